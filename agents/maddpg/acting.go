package maddpg

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/internal/learning"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// noise draws standard Gumbel noise, −ln(−ln u), with the engine's kernel where it has one.
type noise struct {
	s      *rng.Stream
	words  []uint32
	kernel func(dst []float32, words []uint32)
}

// gumbelEngine is an engine with a kernel for Gumbel noise.
type gumbelEngine interface {
	Gumbel(dst []float32, words []uint32)
}

func newNoise(s *rng.Stream, e nets.Engine) *noise {
	n := &noise{s: s, kernel: gumbels}
	if k, ok := e.(gumbelEngine); ok {
		n.kernel = k.Gumbel
	}
	return n
}

// fill draws noise for all of dst.
func (n *noise) fill(dst []float32) {
	if len(n.words) < len(dst) {
		n.words = make([]uint32, len(dst))
	}
	words := n.words[:len(dst)]
	n.s.Words(words)
	n.kernel(dst, words)
}

// begin draws the key of a stream of random words for part.
func (n *noise) begin() uint64 { return n.s.Uint64() }

// part draws the noise from number at on of the stream x, which begin returned; words is scratch of dst's length. All
// parts together are what fill draws, in any order and in parallel.
func (n *noise) part(x uint64, at int, dst []float32, words []uint32) {
	words = words[:len(dst)]
	rng.WordsFrom(x, at, words)
	n.kernel(dst, words)
}

// gumbels is fill's arithmetic for engines without a kernel.
func gumbels(dst []float32, words []uint32) {
	for i, w := range words {
		dst[i] = float32(-math.Log(-math.Log((float64(w>>9) + 0.5) / (1 << 23))))
	}
}

// noise is the standard deviation of exploration at the present step.
func (l *Learner) noise() float64 {
	over := l.c.NoiseSteps
	if over == 0 {
		over = l.ctx.Steps
	}
	return learning.Linear(l.c.Noise, l.c.NoiseFinal, float64(l.Steps), float64(over))
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
	o, draws := &obs.Kinds[0], l.drawn(i)
	w, k := l.p.actionCodec.width(), l.p.actionCodec.components()
	sigma := l.noise()
	for j := range l.p.kind.Agents {
		y, u, a := l.acting.Row(i, j), l.row(i)[j*w:(j+1)*w], act.Kinds[0][j*k:(j+1)*k]
		if random {
			clear(y)
		}
		if !o.Active[j] {
			clear(u)
			clear(a)
			continue
		}
		if m := envs.NotFinite(y); m >= 0 {
			return fmt.Errorf("maddpg: environment %d: the actor of %s %d gives %g for output %d: training has diverged;"+
				" try a smaller actor_rate and critic_rate, or clip", i, l.p.kind.Name, j, y[m], m)
		}
		if l.p.discrete() {
			for m := range y {
				y[m] += draws[j*w+m]
			}
			actor.Forbid(y, o.Mask[j*w:(j+1)*w])
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
		l.p.Unit(u, a)
	}
	return nil
}

// Filter changes exploring actions before they are used, such as those of agents that are to stay as they are.
type Filter interface {
	// Filter changes the actions act, [agents, components], of the agents of environment i, who see o. What it leaves lies
	// within the action's bounds. It does not allocate.
	Filter(i int, o *envs.KindObservation, act []float32) error
}

// NewFiltered is [New] with a filter, for continuous actions. Critics and replay see what the filter leaves. What a
// filter remembers is not part of the learner's state.
func NewFiltered(c Config, ctx agents.Context, f Filter) (*Learner, error) {
	l, err := New(c, ctx)
	if err != nil {
		return nil, err
	}
	if l.p.discrete() {
		return nil, fmt.Errorf("maddpg: %s: a filter needs continuous actions, want no choices", ctx.Spec.ID)
	}
	l.filter = f
	return l, nil
}

// filtered applies the filter to the actions of copy i. u is the same actions as critics see them.
func (l *Learner) filtered(i int, o *envs.KindObservation, act, u []float32) error {
	if err := l.filter.Filter(i, o, act); err != nil {
		return err
	}
	k := l.p.actionCodec.components()
	for j := range l.p.kind.Agents {
		l.p.squeeze(act[j*k:(j+1)*k], u[j*k:(j+1)*k])
	}
	return nil
}
