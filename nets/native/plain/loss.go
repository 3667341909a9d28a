package plain

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/core"
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
