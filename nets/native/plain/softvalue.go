package plain

import (
	"github.com/stoker-rl/stoker/nets/native/core"
	"github.com/stoker-rl/stoker/rng/portable"
)

// Soft is [nets.SoftValue] of one sample, v = min(q1, q2) − α ln π, and the gradient by its inputs.
func Soft(q1, q2, logProb, logAlpha float64) (v, byQ1, byQ2, byLogProb, byLogAlpha float64) {
	alpha := portable.Exp(logAlpha)
	byQ1, byQ2 = 1, 0
	if q2 < q1 {
		byQ1, byQ2 = 0, 1
	}
	cost := float64(alpha * logProb)
	return min(q1, q2) - cost, byQ1, byQ2, -alpha, -cost
}

// softPass is [nets.SoftValue] at work on a batch.
type softPass[T core.Number] struct{ out []T }

func (*net[T]) softPasses() func(int, []T) pass[T] {
	return func(_ int, out []T) pass[T] { return &softPass[T]{out} }
}

func (p *softPass[T]) forward(in []*Tensor[T]) {
	for i := range p.out {
		v, _, _, _, _ := p.at(in, i)
		p.out[i] = T(v)
	}
}

func (*softPass[T]) at(in []*Tensor[T], i int) (v, byQ1, byQ2, byLogProb, byLogAlpha float64) {
	return Soft(float64(in[0].data[i]), float64(in[1].data[i]), float64(in[2].data[i]), float64(in[3].data[i]))
}

func (p *softPass[T]) backward(in []*Tensor[T], gradOut []T, gradIn []*Tensor[T], _ bool) {
	if gradIn == nil {
		return
	}
	for i, g := range gradOut {
		_, byQ1, byQ2, byLogProb, byLogAlpha := p.at(in, i)
		for j, by := range [...]float64{byQ1, byQ2, byLogProb, byLogAlpha} {
			gradIn[j].data[i] = T(by * float64(g))
		}
	}
}
