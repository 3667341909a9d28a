package tile

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/internal/plain"
)

// squashed is [nets.SquashedGaussian] on tiles; plain/actions.go has the equations. It computes lane by lane: a policy
// has few components, beside the networks before and behind it.
type squashed struct {
	g     nets.SquashedGaussian
	lanes int
}

func (*squashed) memory() *memory { return &memory{} }

func (*squashed) stack() *layers { return nil }

// squash computes component j of a lane from an agent's moments and noise.
func (p *squashed) squash(moments, noise []float32, j, lane int) plain.Squashed {
	at, r := j*p.lanes+lane, (p.g.Actions+j)*p.lanes+lane
	return plain.Squash(float64(moments[at]), float64(moments[r]), float64(noise[at]))
}

func (p *squashed) forward(f *forwardStep) []stage {
	return []stage{{agents: p.g.Agents, fills: f, run: func(_ *context, tile, from, to int) {
		for i := from; i < to; i++ {
			p.agent(f.p.out.of(tile, i), f.in[0].of(tile, i), f.in[1].of(tile, i))
		}
	}}}
}

// agent computes an agent's output from its moments and noise.
func (p *squashed) agent(out, moments, noise []float32) {
	for lane := range p.lanes {
		sum := 0.0
		for j := range p.g.Actions {
			s := p.squash(moments, noise, j, lane)
			if p.g.LogProb {
				sum += s.LogProb()
			} else {
				out[j*p.lanes+lane] = float32(s.A)
			}
		}
		if p.g.LogProb {
			out[lane] = float32(sum)
		}
	}
}

func (p *squashed) backward(b *backwardStep) []stage {
	return []stage{{agents: p.g.Agents, needs: b.of, run: func(_ *context, tile, from, to int) {
		for i := from; i < to; i++ {
			p.agentBack(b, tile, i)
		}
	}}}
}

// agentBack sets the gradients w.r.t. agent i's inputs.
func (p *squashed) agentBack(b *backwardStep, tile, i int) {
	moments, noise, g := b.of.in[0].of(tile, i), b.of.in[1].of(tile, i), b.grad(tile, i)
	var byMoments, byNoise []float32
	if t := b.gradIn[0]; t != nil {
		byMoments = t.of(tile, i)
	}
	if t := b.gradIn[1]; t != nil {
		byNoise = t.of(tile, i)
	}
	for lane := range p.lanes {
		for j := range p.g.Actions {
			s := p.squash(moments, noise, j, lane)
			at := j*p.lanes + lane
			var mean, r, eps float64
			if p.g.LogProb {
				mean, r, eps = s.LogProbBack(float64(g[lane]))
			} else {
				mean, r, eps = s.ActionBack(float64(g[at]))
			}
			if byMoments != nil {
				byMoments[at], byMoments[p.g.Actions*p.lanes+at] = float32(mean), float32(r)
			}
			if byNoise != nil {
				byNoise[at] = float32(eps)
			}
		}
	}
}
