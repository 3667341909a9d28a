package kernel

import "fmt"

// unchecked is a set of assembly functions. They don't check that their slices are long enough and that t is a
// multiple of Lanes. The functions declared beside the Set compute a part of a kernel's work.
type unchecked struct {
	Set
	scores     [MostTogether + 1]scoresFunc // by the number of agents
	mix        [MostTogether + 1]mixFunc
	product    func(p *Product, m, rows, n, cols int)
	vector     func(y, x, w, bias []float32, stride int, relu bool)
	update     func(c *Adam, p, m, v, target []float32, shards [][]float32, from int, tau float32, clear bool)
	sumSquares func(x []float32) float64
	peak       func(rounds int)
	round      int // multiply-adds of a round
}

// scoresFunc and mixFunc are ScoresTogether and MixTogether of a fixed number of agents.
type (
	scoresFunc = func(out []float32, stride int, q, base []float32, at []int32, rows, t int, scale float32)
	mixFunc    = func(out []float32, stride int, w, base []float32, at []int32, rows, t int)
)

// MostTogether is the largest number of agents that ScoresTogether and MixTogether process in one call.
const MostTogether = 6

// The Go runtime cannot interrupt a call of assembly, so a garbage collection waits for it. Calls are therefore
// split into pieces of at most about 50 µs.
const (
	pieceProduct  = 1 << 21 // multiply-adds
	pieceColumns  = 256
	pieceElements = 1 << 14 // an element may need a division and a root, or a read from main memory
	pieceTile     = 1 << 17 // multiply-adds with both operands from memory
)

// checked wraps each function of u: slices that are too short panic by indexing, and the work is split into pieces.
func checked(u *unchecked) *Set {
	s := &Set{
		Name: u.Name, Product: u.wholeProduct, Vector: u.wholeVector, Update: u.wholeUpdate, SumSquares: u.sumSquares,
		Sigmoid: inPieces(u.Sigmoid), Tanh: inPieces(u.Tanh),
		SigmoidBack: backInPieces(u.SigmoidBack), TanhBack: backInPieces(u.TanhBack), ReLUBack: backInPieces(u.ReLUBack),
		Axpy: pairInPieces(u.Axpy), Lerp: pairInPieces(u.Lerp),
		Transpose: u.wholeTranspose, Dots: u.wholeDots, RowDots: u.wholeRowDots,
		Scores: u.wholeScores, Mix: u.wholeMix, Scatter: u.wholeScatter,
		Pack: u.wholePack, ScoresTogether: u.scoresTogether, MixTogether: u.mixTogether,
	}
	s.Softmax = func(w []float32, n, t int) {
		if inTile(t) && n > 0 {
			_ = w[n*t-1]
			u.Softmax(w, n, t)
		}
	}
	s.SoftmaxBack = func(g, w []float32, n, t int, scale float32) {
		if inTile(t) && n > 0 {
			_, _ = g[n*t-1], w[n*t-1]
			u.SoftmaxBack(g, w, n, t, scale)
		}
	}
	s.OneHot = func(out, y []float32, n, t int) {
		if inTile(t) && n > 0 {
			_, _ = out[n*t-1], y[n*t-1]
			u.OneHot(out, y, n, t)
		}
	}
	s.Gumbel = func(dst []float32, words []uint32) {
		words = words[:len(dst)]
		for from := 0; from < len(dst); from += pieceElements {
			to := min(from+pieceElements, len(dst))
			u.Gumbel(dst[from:to], words[from:to])
		}
	}
	s.Norm = func(y, hat, scale, x, gain, offset []float32, t int, epsilon float32) {
		if inTile(t) {
			n := len(gain) * t
			u.Norm(y[:n], hat[:n], scale[:t], x[:n], gain, offset[:len(gain)], t, epsilon)
		}
	}
	s.NormBack = func(g, hat, scale, gain []float32, t int) {
		if inTile(t) {
			n := len(gain) * t
			u.NormBack(g[:n], hat[:n], scale[:t], gain, t)
		}
	}
	s.Adam = func(c *Adam, p, g, m, v []float32) {
		g, m, v = g[:len(p)], m[:len(p)], v[:len(p)]
		for from := 0; from < len(p); from += pieceElements {
			to := min(from+pieceElements, len(p))
			u.Adam(c, p[from:to], g[from:to], m[from:to], v[from:to])
		}
	}
	s.Peak = func(n int) int {
		done := 0
		for done < n {
			rounds := min((n-done+u.round-1)/u.round, pieceProduct/u.round)
			u.peak(rounds)
			done += rounds * u.round
		}
		return done
	}
	return s
}

// inTile says whether a tile has lanes. It panics if their number is not a multiple of Lanes.
func inTile(t int) bool {
	if t < 0 || t%Lanes != 0 {
		panic(fmt.Sprintf("kernel: a tile of %d lanes, want a multiple of %d", t, Lanes))
	}
	return t > 0
}

func inPieces(f func(y []float32)) func(y []float32) {
	return func(y []float32) {
		for len(y) > pieceElements {
			f(y[:pieceElements])
			y = y[pieceElements:]
		}
		f(y)
	}
}

func backInPieces(f func(dst, y, g []float32)) func(dst, y, g []float32) {
	return func(dst, y, g []float32) {
		dst, y = dst[:len(g)], y[:len(g)]
		for len(g) > pieceElements {
			f(dst[:pieceElements], y[:pieceElements], g[:pieceElements])
			dst, y, g = dst[pieceElements:], y[pieceElements:], g[pieceElements:]
		}
		f(dst, y, g)
	}
}

func pairInPieces(f func(a float32, x, y []float32)) func(a float32, x, y []float32) {
	return func(a float32, x, y []float32) {
		y = y[:len(x)]
		for len(x) > pieceElements {
			f(a, x[:pieceElements], y[:pieceElements])
			x, y = x[pieceElements:], y[pieceElements:]
		}
		f(a, x, y)
	}
}

func (u *unchecked) wholeUpdate(c *Adam, p, m, v, target []float32, shards [][]float32, tau float32, clear bool) {
	if len(p) == 0 {
		return
	}
	m, v = m[:len(p)], v[:len(p)]
	_ = shards[0]
	for _, s := range shards {
		_ = s[len(p)-1]
	}
	if target != nil {
		target = target[:len(p)]
	}
	for from := 0; from < len(p); from += pieceElements {
		to := min(from+pieceElements, len(p))
		var t []float32
		if target != nil {
			t = target[from:to]
		}
		u.update(c, p[from:to], m[from:to], v[from:to], t, shards, from, tau, clear)
	}
}

func (u *unchecked) wholeVector(y, x, w, bias []float32, relu bool) {
	n := len(y)
	if n == 0 {
		return
	}
	w = w[:len(x)*n]
	if bias != nil {
		bias = bias[:n]
	}
	if len(w) <= pieceTile {
		u.vector(y, x, w, bias, n, relu)
		return
	}
	cols := max(128, pieceTile/len(x)/128*128)
	for from := 0; from < n; from += cols {
		to := min(from+cols, n)
		var b []float32
		if bias != nil {
			b = bias[from:to]
		}
		u.vector(y[from:to], x, w[from:], b, n, relu)
	}
}
