package plain

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
)

// Operands are a loss's numbers, row-major. Its memory can serve many losses; none is allocated after the largest.
type Operands[T core.Number] struct {
	value, grad []T
	args        [][]T
	shapes      [][]int
	agents, per int // values of one agent in the first arg

	// Of a user's loss, in float64.
	value64, grad64 []float64
	args64          [][]float64
}

// Begin takes where the value of each agent and the gradient w.r.t. the first arg go, and forgets the args.
func (o *Operands[T]) Begin(agents int, value, grad []T) {
	o.value, o.grad, o.args, o.shapes = value, grad, o.args[:0], o.shapes[:0]
	o.agents, o.per = agents, len(grad)/agents
}

// Add takes the next arg.
func (o *Operands[T]) Add(arg []T, shape []int) {
	o.args, o.shapes = append(o.args, arg), append(o.shapes, shape)
}

// Compute writes a loss's value and gradient. It doesn't know all losses; the error is about the args' values.
func (o *Operands[T]) Compute(l nets.Loss) (known bool, err error) {
	switch l := l.(type) {
	case nets.SquaredError:
		o.squaredError()
	case nets.Huber:
		o.huber(T(l.Delta))
	case nets.Ascent:
		o.ascent()
	case nets.Penalty:
		o.penalty(T(l.Coef))
	case nets.Temperature:
		o.temperature(T(l.Target))
	case nets.PolicyGradient:
		return true, o.policy(policyLoss[T]{entropy: T(l.Entropy)})
	case nets.ClippedSurrogate:
		return true, o.policy(policyLoss[T]{entropy: T(l.Entropy), clipped: true, clip: T(l.Clip)})
	case nets.Custom:
		o.custom(l)
	default:
		return false, nil
	}
	return true, nil
}

// part is agent i's part of an operand that has the shape of the first arg.
func (o *Operands[T]) part(x []T, i int) []T { return x[i*o.per:][:o.per] }

// squaredError is L = mean(d²), ∂L/∂x = 2d/n, d = x − y, over an agent's n values. Sums are taken in float64.
func (o *Operands[T]) squaredError() {
	scale := 2 / T(o.per)
	for i := range o.agents {
		x, y, g := o.part(o.args[0], i), o.part(o.args[1], i), o.part(o.grad, i)
		sum := 0.0
		for j, v := range x {
			d := v - y[j]
			sum += float64(d) * float64(d)
			g[j] = scale * d
		}
		o.value[i] = T(sum / float64(o.per))
	}
}

// huber is the mean of ½d² where |d| ≤ δ and δ(|d| − ½δ) elsewhere; ∂L/∂x = d/n there and ±δ/n here (Huber, 1964).
func (o *Operands[T]) huber(delta T) {
	scale := 1 / T(o.per)
	for i := range o.agents {
		x, y, g := o.part(o.args[0], i), o.part(o.args[1], i), o.part(o.grad, i)
		sum := 0.0
		for j, v := range x {
			d := v - y[j]
			switch {
			case d > delta:
				sum += float64(delta) * (float64(d) - float64(delta)/2)
				g[j] = scale * delta
			case d < -delta:
				sum += float64(delta) * (-float64(d) - float64(delta)/2)
				g[j] = -scale * delta
			default:
				sum += float64(d) * float64(d) / 2
				g[j] = scale * d
			}
		}
		o.value[i] = T(sum / float64(o.per))
	}
}

// ascent is L = −mean(x), ∂L/∂x = −1/n.
func (o *Operands[T]) ascent() {
	slope := -1 / T(o.per)
	for i := range o.agents {
		g := o.part(o.grad, i)
		sum := 0.0
		for j, v := range o.part(o.args[0], i) {
			sum -= float64(v)
			g[j] = slope
		}
		o.value[i] = T(sum / float64(o.per))
	}
}

// penalty is L = coef·mean(x²), ∂L/∂x = 2coef·x/n.
func (o *Operands[T]) penalty(coef T) {
	scale := 2 * coef / T(o.per)
	for i := range o.agents {
		g := o.part(o.grad, i)
		sum := 0.0
		for j, v := range o.part(o.args[0], i) {
			sum += float64(v) * float64(v)
			g[j] = scale * v
		}
		o.value[i] = T(float64(coef) * sum / float64(o.per))
	}
}

// temperature is L = −mean(x(y + target)), ∂L/∂x = −(y + target)/n.
func (o *Operands[T]) temperature(target T) {
	scale := -1 / T(o.per)
	for i := range o.agents {
		x, y, g := o.part(o.args[0], i), o.part(o.args[1], i), o.part(o.grad, i)
		sum := 0.0
		for j, v := range x {
			d := y[j] + target
			sum -= float64(v) * float64(d)
			g[j] = scale * d
		}
		o.value[i] = T(sum / float64(o.per))
	}
}

// custom runs a user's loss in float64: args in, value and gradient, both zeroed, out.
func (o *Operands[T]) custom(l nets.Custom) {
	o.value64, o.grad64 = core.Grow(o.value64, o.agents), core.Grow(o.grad64, len(o.grad))
	clear(o.value64)
	clear(o.grad64)
	for len(o.args64) < len(o.args) {
		o.args64 = append(o.args64, nil)
	}
	for i, a := range o.args {
		o.args64[i] = core.Grow(o.args64[i], len(a))
		core.Convert(o.args64[i], a)
	}
	l.Func(o.value64, o.grad64, o.args64[:len(o.args)], o.shapes)
	core.Convert(o.value, o.value64)
	core.Convert(o.grad, o.grad64)
}

// policyLoss is the policy gradient (Williams, 1992) or, clipped, the surrogate of Schulman et al. (2017). With
// π = softmax(z) over the legal choices, ℓ = ln π(a), H = −Σ π ln π, and B the batch:
//
//	plain:    L = −mean(Aℓ) − entropy·mean(H)
//	clipped:  L = −mean(min(rA, clip(r, 1−c, 1+c)A)) − entropy·mean(H),  r = e^(ℓ−ℓ_old)
//
//	∂L/∂z_k = (−s([k = a] − π_k) + entropy·π_k(ln π_k + H))/B
//
// where the slope s is A, or for the clipped loss rA while that is the smaller and else 0.
//
// Illegal choices have π = 0 and no gradient, whatever their logits hold. A sample without a legal choice adds nothing.
type policyLoss[T core.Number] struct {
	entropy T
	clipped bool
	clip    T
}

// objective is what the loss makes large for the choice taken, and its slope by ℓ.
func (l *policyLoss[T]) objective(logp, old, advantage T) (value, slope T) {
	if !l.clipped {
		return advantage * logp, advantage
	}
	r := exp(logp - old)
	free := r * advantage
	if held := min(max(r, 1-l.clip), 1+l.clip) * advantage; held < free {
		return held, 0
	}
	return free, free
}

// policy computes the loss from logits, choices, advantages, mask and, where clipped, ℓ_old.
func (o *Operands[T]) policy(l policyLoss[T]) error {
	batch, n := o.shapes[0][1], o.shapes[0][2]
	z, choice, advantage, mask := o.args[0], o.args[1], o.args[2], o.args[3]
	for i := range o.agents {
		sum := 0.0
		for row := i * batch; row < (i+1)*batch; row++ {
			g, legal := o.grad[row*n:][:n], mask[row*n:][:n]
			logits := z[row*n:][:n]
			logsum, found := legalSoftmax(logits, legal, g)
			if !found {
				continue
			}
			a := int(choice[row])
			if a < 0 || a >= n || T(a) != choice[row] || legal[a] == 0 {
				return fmt.Errorf("the choice of agent %d in sample %d is %v, want the number of a legal one below %d",
					i, row%batch, choice[row], n)
			}
			var old T
			if l.clipped {
				old = o.args[4][row]
			}
			value, slope := l.objective(logits[a]-logsum, old, advantage[row])
			h := entropy(logits, g, logsum)
			l.gradient(g, logits, logsum, h, slope, a, 1/T(batch))
			sum -= float64(value) + float64(l.entropy)*float64(h)
		}
		o.value[i] = T(sum / float64(batch))
	}
	return nil
}

// gradient replaces π in g by ∂L/∂z.
func (l *policyLoss[T]) gradient(g, z []T, logsum, h, slope T, a int, scale T) {
	for k, p := range g {
		if p == 0 && k != a { // illegal, or too unlikely for a number: p ln p is 0
			continue
		}
		d := slope * p
		if k == a {
			d -= slope
		}
		if p != 0 {
			d += l.entropy * p * (z[k] - logsum + h)
		}
		g[k] = scale * d
	}
}

// legalSoftmax sets p to the softmax of z over the legal choices, 0 elsewhere, and returns ln Σ exp(z) and
// whether any is legal.
func legalSoftmax[T core.Number](z, legal, p []T) (logsum T, found bool) {
	var top T
	for k, v := range z {
		if legal[k] != 0 && (!found || v > top) {
			top, found = v, true
		}
	}
	clear(p)
	if !found {
		return 0, false
	}
	var sum T
	for k, v := range z {
		if legal[k] != 0 {
			p[k] = exp(v - top)
			sum += p[k]
		}
	}
	for k := range p {
		p[k] /= sum
	}
	return top + T(math.Log(float64(sum))), true
}

// entropy is H = −Σ π ln π.
func entropy[T core.Number](z, p []T, logsum T) T {
	var h T
	for k, v := range p {
		if v != 0 {
			h -= v * (z[k] - logsum)
		}
	}
	return h
}
