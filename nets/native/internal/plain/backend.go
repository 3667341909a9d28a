// Package plain computes networks, losses and optimisers in plain Go, in float32 and float64. It is the text
// that the other backends are tested against, the backend of float64 engines, and what runs where there is no
// assembly, such as on arm64.
//
// Each layer has its forward and its backward pass with the equations beside them: mlp.go those of MLPs, meanfield.go
// and attention.go the mixes, actions.go heads that draw actions, and graph.go networks over graphs. Losses are in
// loss.go; [Operands] computes them for other backends too. Tensors are row-major. The matrix products are gonum's.
//
// What is not here: checks of operands (core), threads, and recorded programs: a recorded update calls its
// function each time.
package plain

import (
	"fmt"
	"math"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// Backend implements [core.Backend] and [core.Graphs].
type Backend[T core.Number] struct {
	state *core.State
	mul   product[T]
	loss  Operands[T] // the one being computed
}

// Float32 returns a backend of an engine in float32.
func Float32(s *core.State) *Backend[float32] { return &Backend[float32]{state: s, mul: Mul32} }

// Float64 returns a backend of an engine in float64.
func Float64(s *core.State) *Backend[float64] { return &Backend[float64]{state: s, mul: mul64} }

// Info implements [core.Backend]: one thread.
func (*Backend[T]) Info() (threads int, kernels string) { return 1, family() }

// family names what computes the same bits: gonum's kernels differ between architectures, and compilers for
// some of them (and for GOAMD64=v3) fuse products with sums.
var family = sync.OnceValue(func() string {
	name := "go-" + runtime.GOARCH
	if fused(1+0x1p-30, 1-0x1p-30, -1) != 0 { // the exact product is 1 − 2⁻⁶⁰, which rounds to 1
		name += "-fma"
	}
	return name
})

//go:noinline
func fused(a, b, c float64) float64 { return a*b + c }

// NewNet implements [core.Backend].
func (b *Backend[T]) NewNet(v *core.Vectors[*Tensor[T]]) (core.Network[*Tensor[T]], error) {
	n := b.newNet(v)
	switch a := v.Arch.(type) {
	case nets.MLP:
		n.newPass = n.mlpPasses(a)
	case nets.MeanField:
		n.newPass = n.fieldPasses(a)
	case nets.GumbelSoftmax:
		n.newPass = n.gumbelPasses(a)
	case nets.SquashedGaussian:
		n.newPass = n.squashedPasses(a)
	case nets.SoftValue:
		n.newPass = n.softPasses()
	default:
		return nil, fmt.Errorf("nets/native: NewNet: kind %q (%T) is not built by this engine", a.Kind(), a)
	}
	return n, nil
}

// Loss implements [core.Backend].
func (b *Backend[T]) Loss(c *core.LossCall[*Tensor[T]]) {
	o := &b.loss
	o.Begin(c.Agents, c.Value.Data, c.Grad.Data)
	for _, a := range c.Args {
		o.Add(a.Data, a.Shape())
	}
	if known, err := o.Compute(c.Law); err != nil {
		c.State.Fail("Loss", "%s: %w", c.Law.LossName(), err)
	} else if !known {
		c.Unknown()
	}
}

// Copy implements [core.Backend].
func (*Backend[T]) Copy(dst, src *Tensor[T]) { copy(dst.Data, src.Data) }

// Add implements [core.Backend].
func (*Backend[T]) Add(dst *Tensor[T], scale float64, src *Tensor[T]) {
	axpy(T(scale), src.Data, dst.Data)
}

// Lerp implements [core.Backend].
func (*Backend[T]) Lerp(dst, src *Tensor[T], t float64) { lerp(dst.Data, src.Data, T(t)) }

// TDTarget implements [core.Backend].
func (*Backend[T]) TDTarget(y, r, discount, q *Tensor[T]) {
	for i, v := range r.Data {
		y.Data[i] = v + discount.Data[i]*q.Data[i]
	}
}

// Record implements [core.Backend].
func (*Backend[T]) Record(updates []func()) core.Program { return core.Called(updates) }

// Gumbel implements [core.Backend].
func (*Backend[T]) Gumbel(dst []float32, words []uint32) { kernel.Reference().Gumbel(dst, words) }

// Parallel implements [core.Backend]: one part after the other.
func (*Backend[T]) Parallel(parts int, part func(i, w int)) {
	for i := range parts {
		part(i, 0)
	}
}

// Tensor is a row-major tensor.
type Tensor[T core.Number] struct{ core.Dense[T] }

// NewTensor implements [core.Backend].
func (*Backend[T]) NewTensor(h core.Header) *Tensor[T] { return &Tensor[T]{core.NewDense[T](h)} }

// SetBlock sets features from to from+width of samples row to row+rows of one agent: those of sample row + r
// are src[r·stride] and those behind it. It is Set in parts, for numbers that lie in rows of something larger.
func (t *Tensor[T]) SetBlock(agent, row, rows, from, width int, src []float32, stride int) {
	if !t.HostBlock("SetBlock", core.Block{Agent: agent, Row: row, Rows: rows, From: from, Width: width}, len(src),
		stride) {
		return
	}
	shape := t.Shape()
	for r := range rows {
		core.Convert(t.Data[(agent*shape[1]+row+r)*shape[2]+from:][:width], src[r*stride:][:width])
	}
}

// GetBlock copies samples row to row+rows of one agent to dst, row after row. It is Get in parts, which several
// goroutines may read.
func (t *Tensor[T]) GetBlock(agent, row, rows int, dst []float32) {
	if t.HostRows("GetBlock", agent, row, rows, len(dst)) {
		shape := t.Shape()
		core.Convert(dst, t.Data[(agent*shape[1]+row)*shape[2]:][:len(dst)])
	}
}

// view is a tensor of [agents, batch, features] within other memory: features of agent i and sample b start at
// i·agent + b·row. Views with agent 0 are one matrix that all agents see.
type view[T core.Number] struct {
	data       []T
	agent, row int
}

// stacked is the view of a whole tensor.
func stacked[T core.Number](data []T, batch, width int) view[T] {
	return view[T]{data, batch * width, width}
}

// at returns n features of agent i and sample b.
func (v view[T]) at(i, b, n int) []T {
	o := i*v.agent + b*v.row
	return v.data[o : o+n : o+n]
}

// from is the view without the first n features.
func (v view[T]) from(n int) view[T] { return view[T]{v.data[n:], v.agent, v.row} }

// product does c += op(a)·op(b), where op transposes on request, c is [m, n] and k is the common dimension.
// Rows of a matrix start lda, ldb, ldc values apart. A factor of exactly 0 in a may be skipped: 0·NaN and 0·Inf
// can count as 0.
type product[T core.Number] func(ta, tb bool, m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int)

// Below gonum's products go parallel at four blocks of 64×64, which allocates. Tiles of three stay on this
// goroutine, and the order of the sums is the same.
const block, serial = 64, 3

// Mul32 is the product of float32: c += op(a)·op(b), as the type product says.
func Mul32(ta, tb bool, m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
	tm, tn := tile(n)
	for i := 0; i < m; i += tm {
		for j := 0; j < n; j += tn {
			gonum.Implementation{}.Sgemm(trans(ta), trans(tb), min(tm, m-i), min(tn, n-j), k,
				1, a[offset(ta, i, lda):], lda, b[offset(!tb, j, ldb):], ldb, 1, c[i*ldc+j:], ldc)
		}
	}
}

func mul64(ta, tb bool, m, n, k int, a []float64, lda int, b []float64, ldb int, c []float64, ldc int) {
	tm, tn := tile(n)
	for i := 0; i < m; i += tm {
		for j := 0; j < n; j += tn {
			gonum.Implementation{}.Dgemm(trans(ta), trans(tb), min(tm, m-i), min(tn, n-j), k,
				1, a[offset(ta, i, lda):], lda, b[offset(!tb, j, ldb):], ldb, 1, c[i*ldc+j:], ldc)
		}
	}
}

// tile is the size of a tile of c.
func tile(n int) (rows, cols int) {
	if n <= block {
		return serial * block, block
	}
	return block, serial * block
}

func trans(t bool) blas.Transpose {
	if t {
		return blas.Trans
	}
	return blas.NoTrans
}

// offset is where line i of a matrix starts: a column, or a row of ld values.
func offset(column bool, i, ld int) int {
	if column {
		return i
	}
	return i * ld
}

// dot is Σ xᵢyᵢ, in four interleaved sums.
func dot[T core.Number](x, y []T) T {
	var s0, s1, s2, s3 T
	y = y[:len(x)]
	for len(x) >= 4 {
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		s0 += v * y[i]
	}
	return (s0 + s1) + (s2 + s3)
}

// axpy does y += a·x.
func axpy[T core.Number](a T, x, y []T) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += a * v
	}
}

func exp[T core.Number](x T) T  { return T(math.Exp(float64(x))) }
func sqrt[T core.Number](x T) T { return T(math.Sqrt(float64(x))) }

// lerp does dst += t(src − dst).
func lerp[T core.Number](dst, src []T, t T) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] += t * (v - dst[i])
	}
}
