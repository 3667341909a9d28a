package tile

import (
	"math"

	"github.com/stoker-rl/stoker/nets/internal/core"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// reduceOp adds up the shards' gradients of a network, group by group, and leaves the shards at zero.
type reduceOp struct {
	k      *kernel.Set
	net    *network
	zero   bool // the gradients held before don't count
	shards int
}

func (r *reduceOp) parts() int { return r.net.v.Groups }

// Part implements [pool.Job].
func (r *reduceOp) Part(g, _ int) {
	n := r.net.v.Size
	r.do(g*n, (g+1)*n)
}

func (r *reduceOp) do(from, to int) {
	dst := r.net.grads[from:to]
	if r.zero {
		clear(dst)
	}
	for _, s := range r.net.shards[:min(r.shards, len(r.net.shards))] {
		AddUp(r.k, dst, s[from:to])
	}
}

// AddUp does dst += sum and sets sum to zero.
func AddUp(k *kernel.Set, dst, sum []float32) {
	k.Axpy(1, sum, dst)
	clear(sum)
}

func (r *reduceOp) reads(t *Tensor) bool  { return r.net.v.Grads == t }
func (r *reduceOp) writes(t *Tensor) bool { return r.net.v.Grads == t }

// adamStep is one step of Adam, group by group: after a segment, or within one agent by agent. What comes just
// before and after it is done piece by piece with it, so that a piece's numbers are still in the first cache.
type adamStep struct {
	*core.Adam[*Tensor]
	net    *network
	reduce *reduceOp // first adds up the gradients, where not nil
	target *Tensor   // then target += tau·(p − target), where not nil
	tau    float32

	squares []float64 // [groups][pieces], of gradients, where a group has several spans
}

// NewAdam implements [core.Learner].
func (n *network) NewAdam(a *core.Adam[*Tensor]) core.Stepper {
	s := &adamStep{Adam: a, net: n}
	if s.spans() > 1 {
		s.squares = make([]float64, n.v.Groups*s.pieces())
	}
	return s
}

// Step implements [core.Stepper].
func (a *adamStep) Step() {
	if p := a.net.b.program; p != nil {
		captured := *a
		p.adam(&captured)
		return
	}
	a.net.b.doWhole(a)
	a.net.b.doWhole((*adamChange)(a))
}

// piece is how many parameters a piece has: with gradients, two shards of them, moments and targets 28 kB. Threads divide a
// group in spans.
const piece, span = 1 << 10, 1 << 14

func (a *adamStep) pieces() int { return (a.net.v.Size + piece - 1) / piece }
func (a *adamStep) spans() int  { return (a.net.v.Size + span - 1) / span }

// each calls f for the pieces of a span of a group.
func (a *adamStep) each(group, of int, f func(number, from, to int)) {
	n := a.net.v.Size
	for at := of * span; at < min((of+1)*span, n); at += piece {
		f(group*a.pieces()+at/piece, group*n+at, group*n+min(at+piece, n))
	}
}

func (a *adamStep) parts() int { return a.net.v.Groups * a.spans() }

// Part implements [pool.Job]: a group's step where it is one span; else the gradients of a span, and [adamChange] follows.
func (a *adamStep) Part(i, w int) {
	if a.spans() == 1 {
		a.whole(i, w)
		return
	}
	a.each(i/a.spans(), i%a.spans(), func(number, from, to int) { a.squares[number] = a.gradients(from, to) })
}

// whole does a group's step.
func (a *adamStep) whole(g, w int) {
	n, x := a.net.v.Size, a.factors(w)
	sum := 0.0
	if a.Clip > 0 { // the whole norm comes first
		for from := g * n; from < (g+1)*n; from += piece {
			sum += a.gradients(from, min(from+piece, (g+1)*n))
		}
		x.adam.Clip = clipFactor(float32(a.Clip), float32(math.Sqrt(sum)))
		for from := g * n; from < (g+1)*n; from += piece {
			a.change(x, from, min(from+piece, (g+1)*n))
		}
	} else {
		for from := g * n; from < (g+1)*n; from += piece {
			sum += a.gradients(from, min(from+piece, (g+1)*n))
			a.change(x, from, min(from+piece, (g+1)*n))
		}
	}
	a.GroupNorms.data[g] = float32(math.Sqrt(sum))
}

// factors are those of the step, in a worker's memory.
func (a *adamStep) factors(w int) *scratch {
	x, f := a.net.b.workers[w], &a.Now
	x.adam = kernel.Adam{
		Beta1: float32(f.Beta1), Rest1: float32(f.Rest1), Beta2: float32(f.Beta2), Rest2: float32(f.Rest2),
		Rate: float32(f.Rate), Scale: float32(f.Scale), Epsilon: float32(f.Epsilon), Clip: 1,
	}
	return x
}

// adamChange is the second half of a step where groups have several spans.
type adamChange adamStep

func (c *adamChange) parts() int {
	if a := (*adamStep)(c); a.spans() > 1 {
		return a.parts()
	}
	return 0
}

// Part implements [pool.Job].
func (c *adamChange) Part(i, w int) {
	a := (*adamStep)(c)
	g, at, x, sum := i/a.spans(), i%a.spans(), a.factors(w), 0.0
	for _, s := range a.squares[g*a.pieces() : (g+1)*a.pieces()] {
		sum += s
	}
	norm := float32(math.Sqrt(sum))
	if a.Clip > 0 {
		x.adam.Clip = clipFactor(float32(a.Clip), norm)
	}
	if at == 0 {
		a.GroupNorms.data[g] = norm
	}
	a.each(g, at, func(_, from, to int) { a.change(x, from, to) })
}

func (c *adamChange) reads(t *Tensor) bool  { return (*adamStep)(c).reads(t) }
func (c *adamChange) writes(t *Tensor) bool { return (*adamStep)(c).writes(t) }

// clipFactor is what a group's gradients are multiplied by. A NaN norm makes all NaN.
func clipFactor(clip, norm float32) float32 {
	if clip <= 0 {
		return 1
	}
	return min(1, clip/(norm+core.ClipEpsilon))
}

// stages implements [step]: within a segment, agent by agent.
func (a *adamStep) stages() []stage {
	return []stage{{agents: a.net.v.Agents, run: func(x *context, _, from, to int) {
		for i := from; i < to; i++ {
			a.whole(i, x.worker)
		}
	}}}
}

// gradients adds up a piece's and returns the sum of their squares.
func (a *adamStep) gradients(from, to int) float64 {
	if a.reduce != nil {
		a.reduce.do(from, to)
	}
	return a.net.b.set.SumSquares(a.net.grads[from:to])
}

// change does a piece's step and its target's.
func (a *adamStep) change(x *scratch, from, to int) {
	var target []float32
	if a.target != nil {
		target = a.target.data[from:to]
	}
	x.grad[0] = a.net.grads[from:to]
	a.net.b.set.Update(&x.adam, a.net.params[from:to], a.First.data[from:to], a.Second.data[from:to], target,
		x.grad[:], a.tau, false)
}

func (a *adamStep) reads(t *Tensor) bool {
	return a.net.v.Params == t || a.net.v.Grads == t || a.target == t
}

func (a *adamStep) writes(t *Tensor) bool {
	return a.net.v.Params == t || a.GroupNorms == t || a.First == t || a.Second == t || a.target == t ||
		a.reduce != nil && a.net.v.Grads == t
}

// fuseTargets has Adam move a target network in the same pass over the parameters, where nothing in between
// looks at the target or changes the parameters.
func (p *program) fuseTargets() {
	var before []operation // in order
	for _, s := range p.segments {
		for _, st := range s.steps {
			before = append(before, st)
		}
		left := s.after[:0]
		for _, w := range s.after {
			if e, ok := w.(*elementwise); ok && e.kind == lerpTo && fuseTarget(before, e) {
				continue
			}
			before, left = append(before, w), append(left, w)
		}
		s.after = left
	}
}

func fuseTarget(before []operation, e *elementwise) bool {
	target, params := e.dst, e.src[0]
	for i := len(before) - 1; i >= 0; i-- {
		if a, ok := before[i].(*adamStep); ok && a.net.v.Params == params {
			if a.target != nil || target == params {
				return false
			}
			a.target, a.tau = target, e.factor
			return true
		}
		if before[i].reads(target) || before[i].writes(target) || before[i].writes(params) {
			return false
		}
	}
	return false
}
