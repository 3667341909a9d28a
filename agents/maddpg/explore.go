package maddpg

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/check"
	"github.com/stoker-rl/stoker/agents/learning"
	"github.com/stoker-rl/stoker/envs"
)

// noise is the standard deviation of exploration at the present step.
func (l *Learner) noise() float64 {
	over := l.c.NoiseSteps
	if over == 0 {
		over = l.ctx.Steps
	}
	return learning.Linear(l.c.Noise, l.c.NoiseFinal, float64(l.steps), float64(over))
}

// drawn is the Gumbel noise of copy i's choices, nil for continuous actions.
func (l *Learner) drawn(i int) []float32 {
	if l.draws == nil {
		return nil
	}
	w := l.p.agents * l.p.act
	return l.draws[i*w : (i+1)*w]
}

// exploreEnv turns the actor's output for copy i into an exploring action. Continuous actions get normal noise; choices
// are drawn from the softmax of the logits, by Gumbel noise. Random actions ignore the actor's output.
func (l *Learner) exploreEnv(i int, obs *envs.Observation, act *envs.Action, random bool) error {
	o, out, draws := &obs.Kinds[0], l.acting.row(i), l.drawn(i)
	if random {
		clear(out)
	}
	w, k := l.p.actionCodec.width(), l.p.actionCodec.components()
	sigma := l.noise()
	for j := range l.p.kind.Agents {
		y, u, a := out[j*w:(j+1)*w], l.row(i)[j*w:(j+1)*w], act.Kinds[0][j*k:(j+1)*k]
		if !o.Active[j] {
			clear(u)
			clear(a)
			continue
		}
		if m := check.NotFinite(y); m >= 0 {
			return fmt.Errorf("maddpg: environment %d: the actor of %s %d gives %g for output %d: training has diverged;"+
				" try a smaller actor_rate and critic_rate, or clip", i, l.p.kind.Name, j, y[m], m)
		}
		if l.p.discrete() {
			for m := range y {
				y[m] += draws[j*w+m]
			}
			forbid(y, o.Mask[j*w:(j+1)*w])
			l.p.choose(y, u, a)
			continue
		}
		lo, hi := float32(l.c.NoiseLow), float32(l.c.NoiseHigh)
		for m := range y {
			if random {
				u[m] = lo + float32(float32(l.explore.Float64())*(hi-lo))
			} else {
				u[m] = min(max(y[m]+float32(float64(sigma*l.explore.Norm())), lo), hi)
			}
		}
		l.p.stretch(u, a)
	}
	return nil
}
