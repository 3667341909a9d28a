package kernel

import "fmt"

// Together says whether ScoresTogether and MixTogether exist for this number of agents: 2, 3, 4 or 6.
func Together(agents int) bool { return agents >= 2 && agents <= MostTogether && agents != 5 }

// Fewer is how many of n agents to process together next: as many as possible without leaving a single one.
func Fewer(n int) int {
	switch {
	case n >= 8 || n == 6:
		return 6
	case n == 7 || n == 4:
		return 4
	case n == 5:
		return 3
	}
	return n
}

// checkTogether panics unless out holds size values for each agent.
func checkTogether(out []float32, stride, agents, size int) {
	if !Together(agents) || stride < 0 {
		panic(fmt.Sprintf("kernel: %d agents together with a stride of %d, want 2, 3, 4 or 6 agents and "+
			"a stride of 0 or more", agents, stride))
	}
	if size > 0 {
		_ = out[(agents-1)*stride+size-1]
	}
}

func (u *unchecked) wholePack(dst, src []float32, stride, agents, rows, t int) {
	if !inTile(t) || rows <= 0 || agents <= 0 {
		return
	}
	if stride < 0 {
		panic(fmt.Sprintf("kernel: pack with a stride of %d, want 0 or more", stride))
	}
	_, _ = dst[agents*rows*t-1], src[(agents-1)*stride+rows*t-1]
	u.Pack(dst, src, stride, agents, rows, t)
}

func (u *unchecked) scoresTogether(out []float32, stride int, q, base []float32, at []int32, agents, rows, t int,
	scale float32) {
	if !inTile(t) || len(at) == 0 {
		return
	}
	rows = max(rows, 0)
	checkTogether(out, stride, agents, len(at)*t)
	if rows > 0 {
		q = q[:agents*rows*t]
		checkNeighbours(base, at, rows*t)
	}
	piece := max(4, pieceTile/max(1, agents*rows*t)/4*4)
	for ; len(at) > piece; at = at[piece:] {
		u.scores[agents](out, stride, q, base, at[:piece], rows, t, scale)
		out = out[piece*t:]
	}
	u.scores[agents](out, stride, q, base, at, rows, t, scale)
}

func (u *unchecked) mixTogether(out []float32, stride int, w, base []float32, at []int32, agents, rows, t int) {
	if !inTile(t) || rows <= 0 || len(at) == 0 {
		return
	}
	checkTogether(out, stride, agents, rows*t)
	w = w[:agents*len(at)*t]
	checkNeighbours(base, at, rows*t)
	piece := max(4, pieceTile/max(1, agents*len(at)*t)/4*4)
	for ; rows > piece; rows -= piece {
		u.mix[agents](out, stride, w, base, at, piece, t)
		out, base = out[piece*t:], base[piece*t:]
	}
	u.mix[agents](out, stride, w, base, at, rows, t)
}
