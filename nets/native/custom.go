package native

import "github.com/stoker-rl/stoker/nets"

// customScratch holds a user's loss's operands in float64 between calls.
type customScratch struct {
	value, grad []float64
	args        [][]float64
	shapes      [][]int
}

// custom runs a user's loss: args in, value and gradient, both zeroed, out.
func (c *lossCall[T]) custom(l nets.Custom) {
	s := &c.scratch
	s.value, s.grad = resize(s.value, c.agents), resize(s.grad, len(c.grad.data))
	clear(s.value)
	clear(s.grad)
	for len(s.args) < len(c.args) {
		s.args = append(s.args, nil)
	}
	s.shapes = s.shapes[:0]
	for i, a := range c.args {
		s.args[i] = resize(s.args[i], len(a.data))
		convert(s.args[i], a.data)
		s.shapes = append(s.shapes, a.shape)
	}
	l.Func(s.value, s.grad, s.args[:len(c.args)], s.shapes)
	convert(c.value.data, s.value)
	convert(c.grad.data, s.grad)
}

func resize(x []float64, n int) []float64 {
	if cap(x) < n {
		return make([]float64, n)
	}
	return x[:n]
}
