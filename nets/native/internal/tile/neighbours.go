package tile

import "github.com/stoker-rl/stoker/nets/native/kernel"

// sharedNeighbours is lists of neighbours in which agents next to each other have the same but for themselves, as
// where everyone sees everyone. A few such agents attend to the places at which their lists agree together (see
// kernel.Set), and to the others one by one. Each goes through its list in order, so that no bit of a result changes.
type sharedNeighbours struct {
	lists [][]int32
	runs  [][kernel.MostTogether + 1][]run // by agent, and by how many from there on; none where it is not worth it
}

// run is a range of places at which lists hold the same, or do not.
type run struct {
	from, to int
	same     bool
}

// fewestSame is how many places at least must be the same; those that are not may be half as many.
const fewestSame = 12

// newSharedNeighbours returns nil where no agents can attend together.
func newSharedNeighbours(lists [][]int32) *sharedNeighbours {
	f := &sharedNeighbours{lists: lists, runs: make([][kernel.MostTogether + 1][]run, len(lists))}
	any := false
	for i := range lists {
		for n := 2; n <= kernel.MostTogether && i+n <= len(lists); n++ {
			if kernel.Together(n) {
				f.runs[i][n] = runsOf(lists[i : i+n])
				any = any || f.runs[i][n] != nil
			}
		}
	}
	if !any {
		return nil
	}
	return f
}

// runsOf cuts lists of one length into stretches that are the same or not.
func runsOf(lists [][]int32) []run {
	n, same := len(lists[0]), 0
	if n < fewestSame {
		return nil
	}
	for _, l := range lists[1:] {
		if len(l) != n {
			return nil
		}
	}
	var runs []run
	for p := range n {
		alike := true
		for _, l := range lists[1:] {
			alike = alike && l[p] == lists[0][p]
		}
		if alike {
			same++
		}
		if last := len(runs) - 1; last >= 0 && runs[last].same == alike {
			runs[last].to++
			continue
		}
		runs = append(runs, run{p, p + 1, alike})
	}
	if same < fewestSame || 2*(n-same) > same {
		return nil
	}
	return runs
}

// next is how many agents from i on attend together, of those before to, and their stretches; 1 and none where
// i does alone.
func (f *sharedNeighbours) next(i, to int) (int, []run) {
	if n := kernel.Fewer(to - i); n > 1 && f.runs[i][n] != nil {
		return n, f.runs[i][n]
	}
	return 1, nil
}

// longest is the length of the longest list.
func (f *sharedNeighbours) longest() int {
	n := 0
	for _, l := range f.lists {
		n = max(n, len(l))
	}
	return n
}

// rows says where some agents' rows of lanes lie: those of the first at a place, those of the next a stride on.
type rows struct {
	v          []float32
	at, stride int
}

// of returns what begins at a row of the i-th agent.
func (r rows) of(i, row, lanes int) []float32 { return r.v[r.at+i*r.stride+row*lanes:] }

// scores sets out, a row for each neighbour, from queries of as many rows as base has of a neighbour.
func (f *sharedNeighbours) scores(x *context, k *kernel.Set, i, n int, runs []run, out, q rows, base []float32,
	width, lanes int, scale float32) {
	packed := x.packed[:n*width*lanes]
	k.Pack(packed, q.of(0, 0, lanes), q.stride, n, width, lanes)
	for _, r := range runs {
		if r.same {
			k.ScoresTogether(out.of(0, r.from, lanes), out.stride, packed, base, f.lists[i][r.from:r.to], n, width, lanes, scale)
			continue
		}
		for j := range n {
			k.Scores(out.of(j, r.from, lanes), q.of(j, 0, lanes), base, f.lists[i+j][r.from:r.to], width, lanes, scale)
		}
	}
}

// atOnce is how many neighbours' weights are packed at a time: six agents' sixteen lanes of them are a quarter
// of the first cache.
const atOnce = 32

// mix sets out, as many rows as base has of a neighbour, from weights, a row for each.
func (f *sharedNeighbours) mix(x *context, k *kernel.Set, i, n int, runs []run, out, w rows, base []float32, width,
	lanes int) {
	for j := range n {
		clear(out.of(j, 0, lanes)[:width*lanes])
	}
	for _, r := range runs {
		if r.same {
			for from := r.from; from < r.to; from += atOnce {
				m := min(atOnce, r.to-from)
				packed := x.packed[:n*m*lanes]
				k.Pack(packed, w.of(0, from, lanes), w.stride, n, m, lanes)
				k.MixTogether(out.of(0, 0, lanes), out.stride, packed, base, f.lists[i][from:from+m], n, width, lanes)
			}
			continue
		}
		for j := range n {
			for p := r.from; p < r.to; p++ { // Scatter adds, where Mix would begin anew
				k.Scatter(out.of(j, 0, lanes), x.place(0), w.of(j, p, lanes), base[f.lists[i+j][p]:], width, lanes)
			}
		}
	}
}
