package tile

import "github.com/stoker-rl/stoker/nets/native/internal/plain"

// softValue is [nets.SoftValue] on tiles; plain/actions.go has the equations.
type softValue struct{ agents int }

func (*softValue) memory() *memory { return &memory{} }

func (*softValue) stack() *layers { return nil }

// at computes a lane from agent i's inputs.
func (*softValue) at(in []*Tensor, tile, i, lane int) (v, byQ1, byQ2, byLogProb, byLogAlpha float64) {
	return plain.Soft(float64(in[0].of(tile, i)[lane]), float64(in[1].of(tile, i)[lane]),
		float64(in[2].of(tile, i)[lane]), float64(in[3].of(tile, i)[lane]))
}

func (p *softValue) forward(f *forwardStep) []stage {
	return []stage{{agents: p.agents, fills: f, run: func(_ *context, tile, from, to int) {
		for i := from; i < to; i++ {
			out := f.p.out.of(tile, i)
			for lane := range out {
				v, _, _, _, _ := p.at(f.in, tile, i, lane)
				out[lane] = float32(v)
			}
		}
	}}}
}

func (p *softValue) backward(b *backwardStep) []stage {
	return []stage{{agents: p.agents, needs: b.of, run: func(_ *context, tile, from, to int) {
		for i := from; i < to; i++ {
			p.agentBack(b, tile, i)
		}
	}}}
}

// agentBack sets the gradients w.r.t. agent i's inputs.
func (p *softValue) agentBack(b *backwardStep, tile, i int) {
	for lane, g := range b.grad(tile, i) {
		_, byQ1, byQ2, byLogProb, byLogAlpha := p.at(b.of.in, tile, i, lane)
		for j, by := range [...]float64{byQ1, byQ2, byLogProb, byLogAlpha} {
			if t := b.gradIn[j]; t != nil {
				t.of(tile, i)[lane] = float32(by * float64(g))
			}
		}
	}
}
