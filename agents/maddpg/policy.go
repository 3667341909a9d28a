package maddpg

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/check"
	"github.com/stoker-rl/stoker/agents/frozen"
	"github.com/stoker-rl/stoker/envs"
)

// TrainedPolicy is a trained policy: actors with frozen weights and frozen observation statistics. Continuous actions
// are deterministic; choices are drawn from the softmax of the logits unless a deterministic action is asked for. Its
// only changing state is the random stream of these draws. Its name is attmf, mf, maddpg, ddpg or iddpg.
type TrainedPolicy struct {
	frozen.Policy
	prob         problem
	acting       *acting
	shift, scale []float32 // [agents, obs], nil where observations are not standardised
	clip         float32
	hot          []float32
}

var _ agents.Policy = (*TrainedPolicy)(nil)

// Act implements [envs.Policy].
func (p *TrainedPolicy) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	o, a := &obs.Kinds[0], act.Kinds[0]
	x := p.acting.x
	copy(x, o.Values)
	if p.shift != nil {
		for i := range x {
			x[i] = min(max(float32((x[i]-p.shift[i])*p.scale[i]), -p.clip), p.clip)
		}
	}
	if p.prob.agents == len(o.Active) {
		p.acting.hide(o.Active)
	}
	p.acting.run()
	w, k := p.prob.actionCodec.width(), p.prob.actionCodec.components()
	for j := range p.prob.kind.Agents {
		y, out := p.acting.out[j*w:(j+1)*w], a[j*k:(j+1)*k]
		if !o.Active[j] {
			clear(out)
			continue
		}
		if m := check.NotFinite(y); m >= 0 {
			return fmt.Errorf("maddpg: policy: actor of %s %d gives %g", p.prob.kind.Name, j, y[m])
		}
		if !p.prob.discrete() {
			p.prob.stretch(y, out)
			continue
		}
		if !deterministic {
			for m := range y {
				y[m] += gumbel(&p.Draws)
			}
		}
		forbid(y, o.MaskOf(j, w))
		p.prob.choose(y, p.hot, out)
	}
	return nil
}
