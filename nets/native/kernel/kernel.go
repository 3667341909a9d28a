package kernel

// Lanes is what a tile's number of samples is a multiple of: one register of AVX-512, two of AVX2.
const Lanes = 16

// Set is one way of computing. All functions leave their inputs unchanged, allocate nothing and panic on slices
// that are too short, like Go's own indexing. T is the number of lanes of a tile.
type Set struct {
	// Name is avx512, avx2 or go.
	Name string

	// Product computes one [Product].
	Product func(p *Product)
	// Vector computes y = x·w + bias for one sample: w is [len(x), len(y)], bias may be nil. With relu, y = max(y, 0).
	Vector func(y, x, w, bias []float32, relu bool)
	// Transpose sets dst[c·ldd + r] = src[r·lds + c] for r < rows, c < cols, and dst[c·ldd + r] = 0 for rows ≤ r < ldd.
	Transpose func(dst []float32, ldd int, src []float32, lds, rows, cols int)
	// Dots does out[i·stride] += Σ_l x[i·T + l]·d[l] for i < rows, T = len(d).
	Dots func(out []float32, stride int, x []float32, rows int, d []float32)
	// RowDots does out[i] += Σ_l x[i·T + l]·y[i·T + l] for i < len(out).
	RowDots func(out, x, y []float32, t int)

	// Scores sets out[e·T + l] = scale·Σ_{u<rows} q[u·T + l]·base[at[e] + u·T + l].
	Scores func(out, q, base []float32, at []int32, rows, t int, scale float32)
	// Mix sets out[g·T + l] = Σ_e w[e·T + l]·base[at[e] + g·T + l] for g < rows; without neighbours, zeros.
	Mix func(out, w, base []float32, at []int32, rows, t int)
	// Scatter does base[at[e] + g·T + l] += w[e·T + l]·x[g·T + l] for every e in turn and g < rows.
	Scatter func(base []float32, at []int32, w, x []float32, rows, t int)
	// Pack puts the rows of some agents side by side, for ScoresTogether and MixTogether: dst[((v·rows +
	// u)·agents + i)·Lanes + l] = src[i·stride + u·t + v·Lanes + l] for v < t/Lanes, u < rows, i < agents.
	Pack func(dst, src []float32, stride, agents, rows, t int)
	// ScoresTogether is Scores of 2, 3, 4 or 6 agents that see the same neighbours: those of agent i begin at
	// out[i·stride]. q is packed.
	ScoresTogether func(out []float32, stride int, q, base []float32, at []int32, agents, rows, t int, scale float32)
	// MixTogether is Mix of as many, added to what is there: that of agent i begins at out[i·stride]. w is packed.
	MixTogether func(out []float32, stride int, w, base []float32, at []int32, agents, rows, t int)
	// Softmax replaces the n rows of w by their softmax, lane by lane: w[e·T + l] = exp(w_e − max)/Σ exp(w −
	// max). NaN in a lane makes that lane NaN.
	Softmax func(w []float32, n, t int)
	// SoftmaxBack replaces g = ∂L/∂w by the gradient w.r.t. the logits, times scale: g_e = scale·w_e·(g_e − Σ w g).
	SoftmaxBack func(g, w []float32, n, t int, scale float32)

	// Sigmoid and Tanh work in place. NaN stays NaN; ±Inf give the limits.
	Sigmoid, Tanh func(y []float32)
	// SigmoidBack, TanhBack and ReLUBack set dst = g·f'(x), where f' follows from y = f(x): y(1 − y), 1 − y²,
	// and 0 where y ≤ 0 (else g, also for NaN). dst may be g.
	SigmoidBack, TanhBack, ReLUBack func(dst, y, g []float32)

	// OneHot sets out to 1 in the first of the n rows of y that is the largest, and to 0 in the others, lane by
	// lane. y is what Softmax gives: from 0 to 1, or NaN in all of a lane, which is then NaN in out.
	OneHot func(out, y []float32, n, t int)
	// Gumbel makes standard Gumbel noise of random words: dst = −ln(−ln u) with u = (word>>9 + ½)/2²³, which
	// lies in (0, 1). Both have one length.
	Gumbel func(dst []float32, words []uint32)

	// Norm normalises the rows of each lane (layer normalisation): hat = (x − mean)/√(var + ε), y = gain·hat + offset;
	// scale [T] becomes 1/√(var + ε). gain and offset are [rows].
	Norm func(y, hat, scale, x, gain, offset []float32, t int, epsilon float32)
	// NormBack replaces g = ∂L/∂y by ∂L/∂x = (ĝ − mean ĝ − hat·mean(ĝ·hat))·scale with ĝ = gain·g.
	NormBack func(g, hat, scale, gain []float32, t int)

	// Axpy does y += a·x, Lerp y += t·(x − y), for any length.
	Axpy, Lerp func(a float32, x, y []float32)
	// SumSquares is Σ x², in float64: [Lanes] partial sums.
	SumSquares func(x []float32) float64
	// Adam changes parameters p and moments m, v by gradients g: see the type [Adam]. Here and in Update the
	// assembly takes denormal numbers as 0: moments of parameters that have no gradient any more end there, and
	// would cost hundreds of cycles each.
	Adam func(c *Adam, p, g, m, v []float32)
	// Update is Adam by the sum of one or more shares of the gradient, added in their order; then target +=
	// tau·(p − target) unless target is nil; and with clear the shares become 0: all in one pass through
	// memory.
	Update func(c *Adam, p, m, v, target []float32, shares [][]float32, tau float32, clear bool)

	// Peak does at least n multiply-adds in registers alone and returns how many: nothing is faster on this machine, and
	// the speed of other kernels is compared with it.
	Peak func(n int) int
}

// Start is what a product's sums begin with.
type Start uint8

// Starts: 0, the row's bias, or what c holds.
const (
	Zero Start = iota
	Bias
	Add
)

// Finish is what is done to a product's result.
type Finish uint8

// Finishes: nothing; max(c, 0), where NaN stays NaN; or 0 where Mask ≤ 0, and c elsewhere and where Mask is NaN.
const (
	None Finish = iota
	ReLU
	Mask
)

// Product is, for m < M and n < N, with any M, N ≥ 1 and K ≥ 0:
//
//	C[m·LDC + n] = finish(start + Σ_{k<K} A[k·AK + m·AM]·B[k·LDB + n])
//
// in the order of k with fused multiply-adds. With N the lanes of a tile and A a weight matrix [in, out] it is
// a layer forward (AK = out, AM = 1) or the gradient w.r.t. its input (AK = 1, AM = out); with N the outputs, B a
// transposed tile [T, N] and A a tile (AK = 1, AM = T) it is the gradient w.r.t. the weights. C must not overlap
// the others.
type Product struct {
	M, N, K int
	A       []float32
	AK, AM  int
	B       []float32
	LDB     int
	C       []float32
	LDC     int
	Start   Start
	Bias    []float32 // [M], for Bias
	Finish  Finish
	Mask    []float32 // for Mask
	LDM     int
}

// Begin makes p a plain product of a size, whose operands are to be set: sums from 0, no finish. To set fields
// one by one is faster than to assign a whole Product: copying that waits until all that was stored before,
// such as another product's result, has left for the cache.
func (p *Product) Begin(m, n, k int) *Product {
	p.M, p.N, p.K, p.Start, p.Finish = m, n, k, Zero, None
	return p
}

// Adam holds the factors of one step of Adam (see package nets), with gc = Clip·g:
//
//	m ← Beta1·m + Rest1·gc,  v ← Beta2·v + Rest2·gc·gc,  p ← p − Rate·m/(√v·Scale + Epsilon)
type Adam struct{ Beta1, Rest1, Beta2, Rest2, Rate, Scale, Epsilon, Clip float32 }
