package kernel

// Graphs are the kernels of networks over graphs. Matrices are row-major, and a row has t float32, a multiple
// of [Lanes], of which those behind the features are 0. The edges into row v are numbers in[v] … in[v+1]−1, and
// src and to are where they come from and go to: these numbers are not checked, as they are what package nets'
// GraphBatch has sorted. Other slices that are too short panic.
type Graphs struct {
	// Weigh sets the weights of the edges into the rows that q has: w = softmax of z over each row's edges, z =
	// LeakyReLU(p[src] + q + extra), where w is negative (−0 among them) where z ≤ 0 or NaN, so that Spread
	// knows. extra is by edge, or empty.
	Weigh func(w, p, q, extra []float32, src, in []int32, slope float32)
	// Gather sets out[r] = Σ |w[e]|·x[src[e]] over the edges into the rows that in has, one fewer than len(in).
	Gather func(out, w, x []float32, src, in []int32, t int)
	// Combine sets out[r] = Σ |w[e]|·x[e], Sums out[r] = Σ x[e].
	Combine func(out, w, x []float32, in []int32, t int)
	Sums    func(out, x []float32, in []int32, t int)
	// Spread takes gradients w.r.t. the rows y that edges go to back to the rows x that they leave. For r <
	// len(dp), out[starts[r]:starts[r+1]] are the numbers of the edges that leave it, and each has
	//
	//	DZ = |W|·(x[r]·y[To] + C)·(slope where W is negative),  gx[r] += |W|·y[To],  dp[r] = Σ DZ
	Spread func(gx, dp, x, y []float32, edges []Edge, out, starts []int32, t int, slope float32)

	// NormRows normalises rows (layer normalisation) and cuts at 0, for r < len(scale) and t = len(bias): with
	// v = y + bias + x, hat = (v − mean)/√(var + ε) over n features, out = max(gain·hat + offset, 0). keep has
	// all bits set in the n features and none behind them. x may be nil, and hat may be y. scale becomes
	// 1/√(var + ε).
	NormRows func(out, hat, scale, y, x, bias, gain, offset, keep []float32, n, epsilon float32)
	// NormRowsBack replaces the gradient by out by that w.r.t. v, and adds to those w.r.t. gain, offset and bias.
	NormRowsBack func(grad, out, hat, scale, gain, keep, dgain, doffset, dbias []float32, n float32)
	// BiasRows sets out = max(y + bias + x, 0), and BiasRowsBack takes the gradient back and adds to that by bias.
	BiasRows     func(out, y, x, bias []float32, rows int)
	BiasRowsBack func(grad, out, dbias []float32, rows int)
}

// Edge is what Spread reads and writes of an edge: together, since edges come in another order than they lie.
type Edge struct {
	W, C float32
	To   int32
	DZ   float32
}

// checkedGraphs puts checks for slices that are too short before each function.
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

// OfGraphs returns the kernels for graphs of the same family.
func (s *Set) OfGraphs() *Graphs {
	if g := graphAssembly(s.Name); g != nil {
		return checkedGraphs(g)
	}
	return checkedGraphs(&Graphs{
		Weigh: weigh, Gather: gather, Combine: combine, Sums: sums, Spread: spread,
		NormRows: normRows, NormRowsBack: normRowsBack, BiasRows: biasRows, BiasRowsBack: biasRowsBack,
	})
}
