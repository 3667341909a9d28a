package native

import (
	"math"
	"slices"

	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// reduceJob adds up the shares' gradients of a net, group by group, and leaves the shares at zero.
type reduceJob struct {
	k      *kernel.Set
	net    *tileNet
	zero   bool // the gradients held before don't count
	shares int
}

func (r *reduceJob) parts() int { return r.net.net.groups }

func (r *reduceJob) part(g, _ int) {
	n := r.net.net.size
	r.do(g*n, (g+1)*n)
}

func (r *reduceJob) do(from, to int) {
	dst := r.net.net.grads.data[from:to]
	if r.zero {
		clear(dst)
	}
	for _, s := range r.net.sums[:min(r.shares, len(r.net.sums))] {
		addUp(r.k, dst, s[from:to])
	}
}

// adamJob is one step of Adam, group by group. What comes just before and after it goes through memory with it: piece by piece, so that a
// piece's numbers are still in the first cache.
type adamJob struct {
	t      *tiler
	adam   *adam[float32]
	reduce *reduceJob       // first adds up the gradients, where not nil
	target *tensor[float32] // then target += tau·(p − target), where not nil
	tau    float32
}

// piece is how many parameters that is: with gradients, two shares of them, moments and targets 28 kB.
const piece = 1 << 10

func (j *adamJob) parts() int { return j.adam.net.groups }

func (j *adamJob) part(g, w int) {
	a := j.adam
	n := a.net.size
	x := j.t.workers[w]
	x.adam = a.now
	sum := 0.0
	if a.c.Clip > 0 { // the whole norm comes first
		for from := g * n; from < (g+1)*n; from += piece {
			sum += j.gradients(from, min(from+piece, (g+1)*n))
		}
		x.adam.Clip = clipFactor(float32(a.c.Clip), float32(math.Sqrt(sum)))
		for from := g * n; from < (g+1)*n; from += piece {
			j.change(x, from, min(from+piece, (g+1)*n))
		}
	} else {
		for from := g * n; from < (g+1)*n; from += piece {
			sum += j.gradients(from, min(from+piece, (g+1)*n))
			j.change(x, from, min(from+piece, (g+1)*n))
		}
	}
	a.norms.data[g] = float32(math.Sqrt(sum))
}

// adamStage is a step of Adam within a segment, agent by agent. It is possible where the batch is one tile and each agent's gradients have one place:
// then all of an agent's are there when it comes to its step, which spares threads a meeting.
type adamStage adamJob

func (s *adamStage) stages() []stage { return []stage{s} }
func (s *adamStage) apart() int      { return s.adam.net.agents }
func (*adamStage) fence() bool       { return false }

func (s *adamStage) run(x *context, _, from, to int) {
	for i := from; i < to; i++ {
		(*adamJob)(s).part(i, x.worker)
	}
}

// takesAdam says whether a step of Adam can be among the segment's.
func (s *segment) takesAdam(a *adamJob) bool {
	n := a.adam.net
	if s.sealed || !s.byAgent || s.tiles != 1 || s.agents != n.agents || !n.tiles.direct(s) {
		return false
	}
	add := s.find(n.tiles)
	return add != nil && add.zero && add.adds
}

// gradients adds up a piece's and returns the sum of their squares.
func (j *adamJob) gradients(from, to int) float64 {
	if j.reduce != nil {
		j.reduce.do(from, to)
	}
	return j.t.set.SumSquares(j.adam.net.grads.data[from:to])
}

// change does a piece's step and its target's.
func (j *adamJob) change(x *scratch, from, to int) {
	a := j.adam
	var target []float32
	if j.target != nil {
		target = j.target.data[from:to]
	}
	x.share[0] = a.net.grads.data[from:to]
	j.t.set.Update(&x.adam, a.net.params.data[from:to], a.first.data[from:to], a.second.data[from:to], target, x.share[:], j.tau, false)
}

// fuseTargets lets Adam move a target network while it has the parameters at hand, where nothing in between looks at the target or
// changes the parameters.
func (p *program) fuseTargets() {
	var ops []any // so far, in order
	for _, s := range p.segments {
		for _, st := range s.steps {
			ops = append(ops, st)
		}
		left := s.after[:0]
		for _, w := range s.after {
			if e, ok := w.(*elementwise); ok && e.kind == lerpTo && p.fuseTarget(ops, e) {
				continue
			}
			ops, left = append(ops, w), append(left, w)
		}
		s.after = left
	}
}

func (p *program) fuseTarget(ops []any, e *elementwise) bool {
	target, params := e.dst, e.src[0]
	for i := len(ops) - 1; i >= 0; i-- {
		j, ok := ops[i].(*adamJob)
		if s, within := ops[i].(*adamStage); within {
			j, ok = (*adamJob)(s), true
		}
		if ok && j.adam.net.params == params {
			if j.target != nil || target == params {
				return false
			}
			j.target, j.tau = target, e.factor
			return true
		}
		if reads(ops[i], target) || writes(ops[i], target) || writes(ops[i], params) {
			return false
		}
	}
	return false
}

// reads and writes say what an operation does with a tensor of parameters or gradients.
func reads(op any, t *tensor[float32]) bool {
	if s, ok := op.(*adamStage); ok {
		op = (*adamJob)(s)
	}
	switch op := op.(type) {
	case *forwardStep:
		return op.w.net.params == t || slices.Contains(op.in, t)
	case *backwardStep:
		return op.of.w.net.params == t || slices.Contains(op.of.in, t) || op.g == t
	case *elementwise:
		return slices.Contains(op.src[:], t) || op.dst == t
	case *tileLoss:
		return slices.Contains(op.call.args, t)
	case *lossSums:
		return false
	case *wholeLoss:
		return slices.Contains(op.call.args, t)
	case *reduceJob:
		return op.net.net.grads == t
	case *adamJob:
		return op.adam.net.params == t || op.adam.net.grads == t || op.target == t
	}
	return true // unknown
}

func writes(op any, t *tensor[float32]) bool {
	if s, ok := op.(*adamStage); ok {
		op = (*adamJob)(s)
	}
	switch op := op.(type) {
	case *forwardStep:
		return op.w.out == t
	case *backwardStep:
		return slices.Contains(op.gradIn, t) || op.params && op.of.w.net.grads == t
	case *elementwise:
		return op.dst == t
	case *tileLoss:
		return op.call.grad == t || op.call.value == t
	case *lossSums:
		return op.call.value == t
	case *wholeLoss:
		return op.call.grad == t || op.call.value == t
	case *reduceJob:
		return op.net.net.grads == t
	case *adamJob:
		return op.adam.net.params == t || op.adam.norms == t || op.adam.first == t || op.adam.second == t || op.target == t ||
			op.reduce != nil && op.adam.net.grads == t
	}
	return true // unknown
}
