package graphs

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/rng/portable"
)

// Steps is what was done in the graphs of a batch: what was legal, [graphs, N], and what was chosen, [graphs,
// components].
type Steps struct {
	Mask   []bool
	Choice []float32
	// Advantage of each step, for [Gradient.Policy].
	Advantage []float32
}

// Gradient differentiates a policy of several components, whose probability is the product of theirs, each given those
// before.
type Gradient struct {
	// Entropy is Σ H over the batch of the last Policy.
	Entropy float64

	s     *Scorer
	grads [][]float32
	p     []float64
}

// NewGradient returns memory for a scorer's problem.
func NewGradient(s *Scorer) *Gradient {
	return &Gradient{s: s, grads: make([][]float32, len(s.p.Components))}
}

// Policy adds the gradient of L = −scale·Σ A·ln π(a) − entropy·scale·Σ H to the weights', over the batch with which the
// scorer has begun, and returns L (Williams, 1992). H is the sum of the components' entropies, each given the choices
// before it that were made.
func (g *Gradient) Policy(x Steps, scale, entropy float64) (loss float64, err error) {
	n := g.s.batch.Graphs()
	g.Entropy = 0
	for c := range g.s.p.Components {
		k := &g.s.p.Components[c]
		g.grads[c] = resize(g.grads[c], n*k.N)
		clear(g.grads[c])
		if err := g.component(c, x, func(i, choice int) {
			h := 0.0
			for _, p := range g.p {
				if p > 0 {
					h -= p * portable.Log(p)
				}
			}
			g.Entropy += h
			a := float64(x.Advantage[i])
			loss -= scale * (a*portable.Log(max(g.p[choice], least)) + entropy*h)
			row := g.grads[c][i*k.N : (i+1)*k.N]
			for j, p := range g.p {
				if p <= 0 {
					continue
				}
				d := a * p
				if j == choice {
					d -= a
				}
				row[j] = float32(scale * (d + entropy*p*(portable.Log(p)+h)))
			}
		}); err != nil {
			return 0, err
		}
	}
	return loss, g.s.Backward(g.grads)
}

// least keeps logarithms finite.
const least = 1e-300

// LogProb writes ln π(a) of each step of the batch with which the scorer has begun.
func (g *Gradient) LogProb(x Steps, dst []float32) error {
	clear(dst)
	for c := range g.s.p.Components {
		if err := g.component(c, x, func(i,
			choice int) {
			dst[i] += float32(portable.Log(max(g.p[choice], least)))
		}); err != nil {
			return err
		}
	}
	return nil
}

// component scores a component and calls f with each graph's choice, once p holds its probabilities.
func (g *Gradient) component(c int, x Steps, f func(i, choice int)) error {
	scores, err := g.s.Score(c)
	if err != nil {
		return err
	}
	k, p := &g.s.p.Components[c], g.s.p
	g.p = resize(g.p, k.N)
	for i := range g.s.batch.Graphs() {
		legal := x.Mask[i*p.N+k.From:][:k.N]
		n := int(x.Choice[i*len(p.Components)+c])
		if !legal[n] {
			return fmt.Errorf("graph %d: choice %d of %s was not legal", i, n, k.Name)
		}
		choice.Softmax(g.p, scores[i*k.N:(i+1)*k.N], legal)
		f(i, n)
		g.s.Choose(c, i, n)
	}
	return nil
}
