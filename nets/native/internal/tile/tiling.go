package tile

import (
	"github.com/stoker-rl/stoker/nets/internal/core"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// tiling says how a tensor of [agents, batch, width] lies in memory:
//
//	[tile][agent][feature][lane]
//
// A lane is a sample; the last tile's missing samples are padding, whose gradients are always 0. Tensors of
// other ranks are row-major (the zero tiling).
type tiling struct{ lanes, tiles, agents, batch, width int }

// lanesOf is how many samples a tile holds, at most four registers: that is enough independent sums to hide the
// latency of multiply-adds. Where threads divide samples, a batch has at least two tiles. One sample is a vector and
// needs no lanes.
func lanesOf(agents, batch int) int {
	const l = kernel.Lanes
	switch {
	case batch <= 1:
		return 1
	case agents >= minAgents:
		return min((batch+l-1)/l*l, 4*l)
	}
	return min(((batch+1)/2+l-1)/l*l, 4*l)
}

func newTiling(agents, batch, width int) tiling {
	l := lanesOf(agents, batch)
	return tiling{l, (batch + l - 1) / l, agents, batch, width}
}

// size is the number of values in memory, padding included.
func (t tiling) size() int { return t.tiles * t.agents * t.width * t.lanes }

// block is where an agent's values in a tile start; there are width·lanes.
func (t tiling) block(tile, agent int) int { return (tile*t.agents + agent) * t.width * t.lanes }

// valid is the number of a tile's lanes that are samples.
func (t tiling) valid(tile int) int { return min(t.lanes, t.batch-tile*t.lanes) }

// transpose is spread for float32: what a tile holds is its samples' rows, transposed.
func (t tiling) transpose(k *kernel.Set, dst, src []float32) {
	for tile := range t.tiles {
		n := t.valid(tile)
		for a := range t.agents {
			k.Transpose(dst[t.block(tile, a):], t.lanes, src[(a*t.batch+tile*t.lanes)*t.width:], t.width, n, t.width)
		}
	}
}

// spread stores row-major numbers in tiles; gather takes them out again.
func spread[S core.Number](t tiling, dst []float32, src []S) {
	for tile := range t.tiles {
		n := t.valid(tile)
		for a := range t.agents {
			rows := src[(a*t.batch+tile*t.lanes)*t.width:]
			block := dst[t.block(tile, a):]
			for f := range t.width {
				lanes := block[f*t.lanes:][:t.lanes]
				for l := range n {
					lanes[l] = float32(rows[l*t.width+f])
				}
				clear(lanes[n:])
			}
		}
	}
}

func gather[D core.Number](t tiling, dst []D, src []float32) {
	for tile := range t.tiles {
		n := t.valid(tile)
		for a := range t.agents {
			rows := dst[(a*t.batch+tile*t.lanes)*t.width:]
			block := src[t.block(tile, a):]
			for f := range t.width {
				lanes := block[f*t.lanes:][:t.lanes]
				for l := range n {
					rows[l*t.width+f] = D(lanes[l])
				}
			}
		}
	}
}

// shardCount is how many shards a batch's gradients are summed in before they are added up. It follows from the
// batch alone, so that no number of threads changes a bit.
func shardCount(tiles int) int { return min(tiles, 4) }
