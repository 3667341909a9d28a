package kernel

// Graphs are the kernels of networks over graphs. Matrices are row-major. A row has t float32, a multiple of
// [Lanes], padded with 0 behind the features. The edges into row v have the indices in[v] … in[v+1]−1; src and to
// hold the rows that edges leave and enter. These indices are not checked: package nets' GraphBatch has checked and
// sorted them. Other slices that are too short panic.
type Graphs struct {
	// Weigh sets the attention weights of the edges into the len(q) rows: w = softmax of z over each row's edges, z
	// = LeakyReLU(p[src] + q + extra). The sign bit of w is set where z ≤ 0 or NaN: Spread reads it. extra has one
	// number per edge, or is empty.
	Weigh func(w, p, q, extra []float32, src, in []int32, slope float32)
	// Gather sets out[r] = Σ |w[e]|·x[src[e]] over the edges e into row r, for r < len(in) − 1.
	Gather func(out, w, x []float32, src, in []int32, t int)
	// Combine sets out[r] = Σ |w[e]|·x[e], Sums out[r] = Σ x[e].
	Combine func(out, w, x []float32, in []int32, t int)
	Sums    func(out, x []float32, in []int32, t int)
	// Spread propagates gradients y w.r.t. the rows that edges enter back to the rows x that they leave. For r <
	// len(dp), out[starts[r]:starts[r+1]] are the indices of the edges that leave row r, and for each of them
	//
	//	DZ = |W|·(x[r]·y[To] + C)·(slope where W is negative),  gx[r] += |W|·y[To],  dp[r] = Σ DZ
	Spread func(gx, dp, x, y []float32, edges []Edge, out, starts []int32, t int, slope float32)

	// NormRows is layer normalisation and ReLU of rows r < len(scale) of t = len(bias) numbers: with v = y + bias +
	// x, hat = (v − mean)/√(var + ε) over n features, out = max(gain·hat + offset, 0) and scale = 1/√(var + ε).
	// keep is a bit mask: all bits set in the n features, none in the padding. x may be nil, and hat may be y.
	NormRows func(out, hat, scale, y, x, bias, gain, offset, keep []float32, n, epsilon float32)
	// NormRowsBack replaces grad, ∂L/∂out, by ∂L/∂v, and adds to the gradients w.r.t. gain, offset and bias.
	NormRowsBack func(grad, out, hat, scale, gain, keep, dgain, doffset, dbias []float32, n float32)
	// BiasRows sets out = max(y + bias + x, 0). BiasRowsBack replaces grad, ∂L/∂out, by ∂L/∂y, and adds to the
	// gradient w.r.t. bias.
	BiasRows     func(out, y, x, bias []float32, rows int)
	BiasRowsBack func(grad, out, dbias []float32, rows int)
}

// Edge holds all that Spread reads and writes of an edge in one place, because Spread visits edges out of order.
type Edge struct {
	W, C float32
	To   int32
	DZ   float32
}

// checkedGraphs wraps each function with checks for slices that are too short.
func checkedGraphs(u *Graphs) *Graphs {
	g := *u
	g.Weigh = func(w, p, q, extra []float32, src, in []int32, slope float32) {
		if len(q) == 0 {
			return
		}
		last := in[len(q)]
		_, _ = w[:last], src[:last]
		if len(extra) > 0 {
			_ = extra[:last]
		}
		u.Weigh(w, p, q, extra, src, in, slope)
	}
	g.Gather = func(out, w, x []float32, src, in []int32, t int) {
		if rows := len(in) - 1; rows > 0 && inTile(t) {
			_, _, _ = out[:rows*t], w[:in[rows]], src[:in[rows]]
			u.Gather(out, w, x, src, in, t)
		}
	}
	g.Combine = func(out, w, x []float32, in []int32, t int) {
		if rows := len(in) - 1; rows > 0 && inTile(t) {
			_, _, _ = out[:rows*t], w[:in[rows]], x[:int(in[rows])*t]
			u.Combine(out, w, x, in, t)
		}
	}
	g.Sums = func(out, x []float32, in []int32, t int) {
		if rows := len(in) - 1; rows > 0 && inTile(t) {
			_, _ = out[:rows*t], x[:int(in[rows])*t]
			u.Sums(out, x, in, t)
		}
	}
	g.Spread = func(gx, dp, x, y []float32, edges []Edge, out, starts []int32, t int, slope float32) {
		if rows := len(dp); rows > 0 && inTile(t) {
			_, _, _ = gx[:rows*t], x[:rows*t], out[:starts[rows]]
			u.Spread(gx, dp, x, y, edges, out, starts, t, slope)
		}
	}
	g.NormRows = func(out, hat, scale, y, x, bias, gain, offset, keep []float32, n, epsilon float32) {
		if t := len(bias); inTile(t) && len(scale) > 0 {
			all := len(scale) * t
			_, _, _, _, _, _ = out[:all], hat[:all], y[:all], gain[:t], offset[:t], keep[:t]
			if x != nil {
				_ = x[:all]
			}
			u.NormRows(out, hat, scale, y, x, bias, gain, offset, keep, n, epsilon)
		}
	}
	g.NormRowsBack = func(grad, out, hat, scale, gain, keep, dgain, doffset, dbias []float32, n float32) {
		if t := len(gain); inTile(t) && len(scale) > 0 {
			all := len(scale) * t
			_, _, _, _, _, _, _ = grad[:all], out[:all], hat[:all], keep[:t], dgain[:t], doffset[:t], dbias[:t]
			u.NormRowsBack(grad, out, hat, scale, gain, keep, dgain, doffset, dbias, n)
		}
	}
	g.BiasRows = func(out, y, x, bias []float32, rows int) {
		if t := len(bias); inTile(t) && rows > 0 {
			_, _ = out[:rows*t], y[:rows*t]
			if x != nil {
				_ = x[:rows*t]
			}
			u.BiasRows(out, y, x, bias, rows)
		}
	}
	g.BiasRowsBack = func(grad, out, dbias []float32, rows int) {
		if t := len(dbias); inTile(t) && rows > 0 {
			_, _ = grad[:rows*t], out[:rows*t]
			u.BiasRowsBack(grad, out, dbias, rows)
		}
	}
	return &g
}

// OfGraphs returns the kernels for networks over graphs with the same instructions.
func (s *Set) OfGraphs() *Graphs {
	if g := graphAssembly(s.Name); g != nil {
		return checkedGraphs(g)
	}
	return checkedGraphs(&Graphs{
		Weigh: weigh, Gather: gather, Combine: combine, Sums: sums, Spread: spread,
		NormRows: normRows, NormRowsBack: normRowsBack, BiasRows: biasRows, BiasRowsBack: biasRowsBack,
	})
}
