package plain

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/core"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// Backend implements [core.Backend] and [core.Graphs].
type Backend[T core.Number] struct {
	state *core.State
	mul   product[T]
	loss  Operands[T] // the one being computed
}

// Float32 returns a backend of an engine in float32.
func Float32(s *core.State) *Backend[float32] { return &Backend[float32]{state: s, mul: mul32} }

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
	o.Begin(c.Agents, c.Value.data, c.Grad.data)
	for _, a := range c.Args {
		o.Add(a.data, a.Shape())
	}
	if known, err := o.Compute(c.Law); err != nil {
		c.State.Fail("Loss", "%s: %w", c.Law.LossName(), err)
	} else if !known {
		c.Unknown()
	}
}

// Copy implements [core.Backend].
func (*Backend[T]) Copy(dst, src *Tensor[T]) { copy(dst.data, src.data) }

// Add implements [core.Backend].
func (*Backend[T]) Add(dst *Tensor[T], scale float64, src *Tensor[T]) {
	axpy(T(scale), src.data, dst.data)
}

// Lerp implements [core.Backend].
func (*Backend[T]) Lerp(dst, src *Tensor[T], t float64) { lerp(dst.data, src.data, T(t)) }

// TDTarget implements [core.Backend].
func (*Backend[T]) TDTarget(y, r, discount, q *Tensor[T]) {
	for i, v := range r.data {
		y.data[i] = v + discount.data[i]*q.data[i]
	}
}

// Record implements [core.Backend]: the update is called each time.
func (*Backend[T]) Record(update func()) core.Program { return program(update) }

type program func()

func (p program) Run() { p() }

// Gumbel implements [core.Backend].
func (*Backend[T]) Gumbel(dst []float32, words []uint32) { kernel.Reference().Gumbel(dst, words) }

// Parallel implements [core.Backend]: one part after the other.
func (*Backend[T]) Parallel(parts int, part func(i, w int)) {
	for i := range parts {
		part(i, 0)
	}
}
