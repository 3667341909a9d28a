package plain

import (
	"math"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/core"
	"github.com/stoker-rl/stoker/rng/portable"
)

// Squashed is one component of [nets.SquashedGaussian] at work, in float64:
//
//	∂a/∂µ = 1 − a²,  ∂ ln π/∂µ = 2a,  ∂u/∂ln σ = σε,  ∂u/∂ε = σ
//
// and ln π has −ln σ and −½ε² beside.
type Squashed struct {
	A       float64 // the action, tanh u
	noise   float64
	flat    float64 // 1 − a²
	logFlat float64 // ln(1 − a²)
	logStd  float64
	std     float64
	slope   float64 // ∂ ln σ/∂r
}

// Squash computes a component from its mean, r and noise.
func Squash(mean, r, noise float64) (s Squashed) {
	const half = (nets.LogStdMax - nets.LogStdMin) / 2.0
	t, flat, _ := tanh(r)
	s.noise, s.logStd, s.slope = noise, nets.LogStdMin+float64(half*(1+t)), half*flat
	s.std = portable.Exp(s.logStd)
	s.A, s.flat, s.logFlat = tanh(mean + float64(s.std*noise))
	return s
}

// tanh returns tanh x, 1 − tanh² x and its logarithm, all from e^(−2|x|), so that none is lost where tanh is ±1.
func tanh(x float64) (t, flat, logFlat float64) {
	size := math.Abs(x)
	e := portable.Exp(-2 * size)
	t = math.Copysign((1-e)/(1+e), x)
	flat = 4 * e / float64((1+e)*(1+e))
	return t, flat, 2 * (math.Ln2 - size - portable.Log1p(e))
}

// LogProb is the component's part of ln π.
func (s *Squashed) LogProb() float64 {
	const logRoot2Pi = 0.91893853320467274178
	return -float64(s.noise*s.noise)/2 - s.logStd - logRoot2Pi - s.logFlat
}

// ActionBack returns the gradient by mean, r and noise, given that by the action.
func (s *Squashed) ActionBack(g float64) (mean, r, noise float64) {
	mean = g * s.flat
	return mean, mean * s.std * s.noise * s.slope, mean * s.std
}

// LogProbBack returns the gradient by mean, r and noise, given that by ln π.
func (s *Squashed) LogProbBack(g float64) (mean, r, noise float64) {
	d := 2 * s.A
	return g * d, g * (float64(d*s.std*s.noise) - 1) * s.slope, g * (float64(d*s.std) - s.noise)
}

// squashedPass is [nets.SquashedGaussian] at work on a batch.
type squashedPass[T core.Number] struct {
	g    nets.SquashedGaussian
	rows int // agents × batch
	out  []T
}

func (n *net[T]) squashedPasses(g nets.SquashedGaussian) func(int, []T) pass[T] {
	return func(batch int, out []T) pass[T] { return &squashedPass[T]{g, g.Agents * batch, out} }
}

// squash computes component j of a row.
func (p *squashedPass[T]) squash(in []*Tensor[T], row, j int) Squashed {
	n := p.g.Actions
	moments := in[0].data[row*2*n:]
	return Squash(float64(moments[j]), float64(moments[n+j]), float64(in[1].data[row*n+j]))
}

func (p *squashedPass[T]) forward(in []*Tensor[T]) {
	for row := range p.rows {
		sum := 0.0
		for j := range p.g.Actions {
			s := p.squash(in, row, j)
			if p.g.LogProb {
				sum += s.LogProb()
			} else {
				p.out[row*p.g.Actions+j] = T(s.A)
			}
		}
		if p.g.LogProb {
			p.out[row] = T(sum)
		}
	}
}

func (p *squashedPass[T]) backward(in []*Tensor[T], gradOut []T, gradIn []*Tensor[T], _ bool) {
	if gradIn == nil {
		return
	}
	n := p.g.Actions
	for row := range p.rows {
		moments := gradIn[0].data[row*2*n:]
		for j := range n {
			s := p.squash(in, row, j)
			var mean, r, noise float64
			if p.g.LogProb {
				mean, r, noise = s.LogProbBack(float64(gradOut[row]))
			} else {
				mean, r, noise = s.ActionBack(float64(gradOut[row*n+j]))
			}
			moments[j], moments[n+j], gradIn[1].data[row*n+j] = T(mean), T(r), T(noise)
		}
	}
}
