package kernel

// Lanes divides a tile's number of samples: float32 in one register of AVX-512, or in two of AVX2.
const Lanes = 16

// Set is one implementation of the kernels. All functions leave their inputs unchanged, allocate nothing and panic
// on slices that are too short, as Go's indexing does. T is the number of lanes of a tile.
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
	// Scatter does base[at[e] + g·T + l] += w[e·T + l]·x[g·T + l] for g < rows, neighbour e after neighbour e.
	Scatter func(base []float32, at []int32, w, x []float32, rows, t int)
	// Pack interleaves the rows of several agents, as ScoresTogether and MixTogether read them: dst[((v·rows +
	// u)·agents + i)·Lanes + l] = src[i·stride + u·t + v·Lanes + l] for v < t/Lanes, u < rows, i < agents.
	Pack func(dst, src []float32, stride, agents, rows, t int)
	// ScoresTogether is Scores for 2, 3, 4 or 6 agents with the same neighbours. The scores of agent i begin at
	// out[i·stride]. q is packed.
	ScoresTogether func(out []float32, stride int, q, base []float32, at []int32, agents, rows, t int, scale float32)
	// MixTogether is Mix for 2, 3, 4 or 6 agents with the same neighbours, added to out. The rows of agent i begin
	// at out[i·stride]. w is packed.
	MixTogether func(out []float32, stride int, w, base []float32, at []int32, agents, rows, t int)
	// Softmax replaces the n rows of w by their softmax, lane by lane: w[e·T + l] = exp(w_e − max)/Σ exp(w −
	// max). NaN in a lane makes that lane NaN.
	Softmax func(w []float32, n, t int)
	// SoftmaxBack replaces g = ∂L/∂w by the gradient w.r.t. the logits, times scale: g_e = scale·w_e·(g_e − Σ w g).
	SoftmaxBack func(g, w []float32, n, t int, scale float32)

	// Sigmoid and Tanh work in place. NaN stays NaN; ±Inf give the limits.
	Sigmoid, Tanh func(y []float32)
	// SigmoidBack, TanhBack and ReLUBack set dst = g·f'(x), with f' computed from y = f(x): y(1 − y), 1 − y², and
	// 0 where y ≤ 0, else 1 (also for NaN). dst may be g.
	SigmoidBack, TanhBack, ReLUBack func(dst, y, g []float32)

	// OneHot sets out to 1 in the row with the largest y (the first of equal ones) and to 0 in the other rows, lane
	// by lane. y is a result of Softmax: from 0 to 1, or NaN in a whole lane, which is then NaN in out.
	OneHot func(out, y []float32, n, t int)
	// Gumbel converts random words to standard Gumbel noise: dst = −ln(−ln u) with u = (word>>9 + ½)/2²³, which
	// lies in (0, 1). dst and words have the same length.
	Gumbel func(dst []float32, words []uint32)

	// Norm normalises the rows of each lane (layer normalisation): hat = (x − mean)/√(var + ε), y = gain·hat + offset;
	// scale [T] becomes 1/√(var + ε). gain and offset are [rows].
	Norm func(y, hat, scale, x, gain, offset []float32, t int, epsilon float32)
	// NormBack replaces g = ∂L/∂y by ∂L/∂x = (ĝ − mean ĝ − hat·mean(ĝ·hat))·scale with ĝ = gain·g.
	NormBack func(g, hat, scale, gain []float32, t int)

	// Axpy does y += a·x, Lerp y += t·(x − y), for any length.
	Axpy, Lerp func(a float32, x, y []float32)
	// SumSquares is Σ x² in float64, from [Lanes] partial sums.
	SumSquares func(x []float32) float64
	// Adam updates parameters p and moments m, v from gradients g: see the type [Adam]. Here and in Update the
	// assembly treats denormal numbers as 0. The moments of a parameter whose gradient stays 0 become denormal, and
	// each such number would cost hundreds of cycles.
	Adam func(c *Adam, p, g, m, v []float32)
	// Update is a fused step in one pass over memory: it sums one or more shards of the gradient in their order,
	// applies Adam, does target += tau·(p − target) unless target is nil, and with clear sets the shards to 0.
	Update func(c *Adam, p, m, v, target []float32, shards [][]float32, tau float32, clear bool)

	// Peak does at least n multiply-adds in registers, without memory access, and returns how many it did. Its speed
	// is this CPU's peak, with which other kernels are compared.
	Peak func(n int) int
}

// Start is the initial value of a product's sums.
type Start uint8

// Starts: 0, the row's bias, or what c holds.
const (
	Zero Start = iota
	Bias
	Add
)

// Finish is the last operation on a product's result.
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
// in the order of k with fused multiply-adds. With N the lanes of a tile and A a weight matrix [in, out] it is a
// layer's forward pass (AK = out, AM = 1) or the gradient w.r.t. its input (AK = 1, AM = out). With N the outputs,
// B a transposed tile [T, N] and A a tile (AK = 1, AM = T) it is the gradient w.r.t. the weights. C must not
// overlap the other operands.
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

// Begin resets p to a product of the given size with sums from 0 and no finish; the caller then sets the operands.
// Setting fields one by one is faster than assigning a whole Product: the copy would wait until all earlier stores,
// such as another product's result, have left the store buffer.
func (p *Product) Begin(m, n, k int) *Product {
	p.M, p.N, p.K, p.Start, p.Finish = m, n, k, Zero, None
	return p
}

// Adam holds the factors of one step of Adam (see package nets), with gc = Clip·g:
//
//	m ← Beta1·m + Rest1·gc,  v ← Beta2·v + Rest2·gc·gc,  p ← p − Rate·m/(√v·Scale + Epsilon)
type Adam struct{ Beta1, Rest1, Beta2, Rest2, Rate, Scale, Epsilon, Clip float32 }
