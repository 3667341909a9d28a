package plain

import (
	"math"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
	"github.com/stoker-rl/stoker/rng/portable"
)

// gumbelPass is [nets.GumbelSoftmax] at work (Jang et al., 2017). Per segment, with τ the temperature:
//
//	y = softmax((logits + noise)/τ),  ∂L/∂logits = ∂L/∂noise = y(g − Σ y g)/τ,  g = ∂L/∂y
//
// With Hard the output is 1 at the first largest y and the gradient stays that of y.
type gumbelPass[T core.Number] struct {
	g       nets.GumbelSoftmax
	rows    int // agents × batch
	width   int
	out     []T
	relaxed []T // y; the output itself where not Hard
}

func (n *net[T]) gumbelPasses(g nets.GumbelSoftmax) func(int, []T) pass[T] {
	return func(batch int, out []T) pass[T] {
		p := &gumbelPass[T]{g: g, rows: g.Agents * batch, width: g.Width(), out: out, relaxed: out}
		if g.Hard {
			p.relaxed = make([]T, len(out))
		}
		return p
	}
}

func (p *gumbelPass[T]) forward(in []*Tensor[T]) {
	logits, noise := in[0].Data, in[1].Data
	temperature := T(p.g.Temperature)
	for i, v := range logits {
		p.relaxed[i] = (v + noise[i]) / temperature
	}
	for at := 0; at < len(p.out); {
		for _, n := range p.g.Segments {
			softmax(p.relaxed[at:][:n])
			if p.g.Hard {
				oneHot(p.relaxed[at:][:n], p.out[at:][:n])
			}
			at += n
		}
	}
}

// oneHot marks the first largest value. Where there is a NaN there is no choice: all of out is NaN.
func oneHot[T core.Number](y, out []T) {
	best := 0
	for j, v := range y {
		if v != v {
			for l := range out {
				out[l] = v
			}
			return
		}
		if v > y[best] {
			best = j
		}
	}
	clear(out)
	out[best] = 1
}

func (p *gumbelPass[T]) backward(_ []*Tensor[T], gradOut []T, gradIn []*Tensor[T], _ bool) {
	if gradIn == nil {
		return
	}
	scale := 1 / T(p.g.Temperature)
	d := gradIn[0].Data
	for at := 0; at < len(d); {
		for _, n := range p.g.Segments {
			y, g := p.relaxed[at:][:n], gradOut[at:][:n]
			mean := dot(y, g)
			for j, v := range y {
				d[at+j] = scale * v * (g[j] - mean)
			}
			at += n
		}
	}
	copy(gradIn[1].Data, d)
}

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
	moments := in[0].Data[row*2*n:]
	return Squash(float64(moments[j]), float64(moments[n+j]), float64(in[1].Data[row*n+j]))
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
		moments := gradIn[0].Data[row*2*n:]
		for j := range n {
			s := p.squash(in, row, j)
			var mean, r, noise float64
			if p.g.LogProb {
				mean, r, noise = s.LogProbBack(float64(gradOut[row]))
			} else {
				mean, r, noise = s.ActionBack(float64(gradOut[row*n+j]))
			}
			moments[j], moments[n+j], gradIn[1].Data[row*n+j] = T(mean), T(r), T(noise)
		}
	}
}

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
	return Soft(float64(in[0].Data[i]), float64(in[1].Data[i]), float64(in[2].Data[i]), float64(in[3].Data[i]))
}

func (p *softPass[T]) backward(in []*Tensor[T], gradOut []T, gradIn []*Tensor[T], _ bool) {
	if gradIn == nil {
		return
	}
	for i, g := range gradOut {
		_, byQ1, byQ2, byLogProb, byLogAlpha := p.at(in, i)
		for j, by := range [...]float64{byQ1, byQ2, byLogProb, byLogAlpha} {
			gradIn[j].Data[i] = T(by * float64(g))
		}
	}
}
