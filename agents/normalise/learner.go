// Package normalise lets any learner see standardised observations and scaled rewards: observations by the running mean
// and deviation of all that the copies have seen, rewards by the running deviation of the discounted return (as
// Stable-Baselines3's VecNormalize does).
//
// [New] puts a [Learner] around a learner. It normalises what the vector holds in place after each step, over all
// copies in their order, so that nothing depends on the number of workers. The statistics belong to the policy: they
// are part of the learner's state, and [Learner.Policy] and [Open] give a policy that standardises what it sees by
// statistics that do not change any more. Returns of episodes and evaluations are those of the environment: only the
// learner sees scaled rewards.
//
// Not here: the statistics themselves (envs.Normalizer), and the time limit, which is a wrapper of the environment
// (envs.TimeLimit).
package normalise

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/internal/saved"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

// Options say what is normalised.
type Options struct {
	// ObservationClip bounds standardised observations by ±clip; 0 leaves observations as they are.
	ObservationClip float64
	// RewardClip bounds scaled rewards by ±clip; 0 leaves rewards as they are. Gamma discounts the returns that scale
	// them.
	RewardClip, Gamma float64
}

// On says whether anything is normalised.
func (o Options) On() bool { return o.ObservationClip > 0 || o.RewardClip > 0 }

// Learner is a learner that sees normalised observations and rewards. It implements [agents.Learner].
type Learner struct {
	agents.Learner
	clip     float64
	rewards  float32            // their bound
	seen     []*envs.Normalizer // of each kind's observations; nil where they stay as they are
	earned   []*envs.Normalizer // of each kind's returns; nil where rewards stay as they are
	progress progress
}

// progress is what must be known beside the statistics to go on.
type progress struct {
	gamma   float64
	begun   bool        // the first observations are normalised
	returns [][]float64 // of each kind, [copies, agents]: the discounted return so far
}

// State implements [state.Stater].
func (p *progress) State(c *state.Codec) {
	state.Value(c, &p.begun)
	for _, r := range p.returns {
		state.Fixed(c, r)
	}
}

// New makes a learner by build and puts normalisation around it. The context that build gets describes what the learner
// will see. It has no copies of the environment and no teachers: what these see is not normalised.
func New(o Options, ctx agents.Context, build func(agents.Context) (agents.Learner, error)) (*Learner, error) {
	l := &Learner{clip: o.ObservationClip, rewards: float32(o.RewardClip), progress: progress{gamma: o.Gamma}}
	var err error
	if ctx.Spec, l.seen, err = normalised(ctx.Spec, o.ObservationClip); err != nil {
		return nil, err
	}
	l.earned = make([]*envs.Normalizer, len(ctx.Spec.Kinds))
	for i, k := range ctx.Spec.Kinds {
		l.progress.returns = append(l.progress.returns, make([]float64, ctx.NumEnvs*k.Agents))
		if o.RewardClip > 0 {
			if l.earned[i], err = envs.NewNormalizer(1, o.RewardClip); err != nil {
				return nil, err
			}
		}
	}
	ctx.NewEnv, ctx.Teacher = nil, nil
	l.Learner, err = build(ctx)
	return l, err
}

// normalised describes an environment with standardised observations, and makes their statistics. A clip of 0 leaves
// all as it is. Graphs are left as they are.
func normalised(s *envs.Spec, clip float64) (*envs.Spec, []*envs.Normalizer, error) {
	out := *s
	out.Kinds = slices.Clone(s.Kinds)
	norms := make([]*envs.Normalizer, len(s.Kinds))
	any := false
	for i := range out.Kinds {
		k := &out.Kinds[i]
		w := k.Observation.Width()
		if clip == 0 || w == 0 {
			continue
		}
		if k.MaskAfter != nil {
			return nil, nil, fmt.Errorf("wrappers.normalize_observation: the masks of kind %q of %s read its "+
				"observations, "+
				"want a kind whose masks do not", k.Name, s.ID)
		}
		var err error
		if norms[i], err = envs.NewNormalizer(w, clip); err != nil {
			return nil, nil, err
		}
		k.Observation = envs.NewBox(w, -float32(clip), float32(clip))
		any = true
	}
	if clip > 0 && !any {
		return nil, nil, fmt.Errorf("wrappers.normalize_observation: %s shows graphs alone, "+
			"want an environment that shows vectors", s.ID)
	}
	return &out, norms, nil
}

// Act implements [agents.Learner]. The first call normalises what Reset left.
func (l *Learner) Act(v *envs.Vector) error {
	if !l.progress.begun {
		for i := range v.NumEnvs() {
			l.learn(v.Obs.Env(i))
		}
		l.apply(v.Obs)
		l.progress.begun = true
	}
	return l.Learner.Act(v)
}

// Observe implements [agents.Learner]: what the step gave is normalised in place, then shown.
func (l *Learner) Observe(v *envs.Vector) error {
	for i := range v.NumEnvs() {
		l.learn(v.After.Env(i))
		if v.Terminated[i] || v.Truncated[i] {
			l.learn(v.Obs.Env(i)) // the next episode's first
		}
	}
	l.apply(v.After)
	l.apply(v.Obs)
	l.scale(v)
	return l.Learner.Observe(v)
}

// learn takes what the agents that are present see into the statistics.
func (l *Learner) learn(o *envs.Observation) {
	for k, m := range l.seen {
		if m == nil {
			continue
		}
		w := m.Width()
		for j, here := range o.Kinds[k].Active {
			if here {
				m.Update(o.Kinds[k].Values[j*w : (j+1)*w])
			}
		}
	}
}

func (l *Learner) apply(b *envs.Batch) {
	for k, m := range l.seen {
		if m != nil {
			standardise(m, &b.Kinds[k])
		}
	}
}

// standardise changes the rows of agents that are present.
func standardise(m *envs.Normalizer, o *envs.KindObservation) {
	w := m.Width()
	for j, here := range o.Active {
		if row := o.Values[j*w : (j+1)*w]; here {
			m.Apply(row, row)
		}
	}
}

// scale divides rewards by the deviation of the discounted return: every agent's return counts, and all agents of a
// kind share the divisor. Rewards are not shifted.
func (l *Learner) scale(v *envs.Vector) {
	for k, m := range l.earned {
		if m == nil {
			continue
		}
		returns, rewards := l.progress.returns[k], v.Rewards[k]
		for j, here := range v.Before.Kinds[k].Active {
			if here {
				returns[j] = float64(l.progress.gamma*returns[j]) + float64(rewards[j])
				m.Update([]float32{float32(returns[j])})
			}
		}
		_, scale := m.Affine()
		for j, x := range rewards {
			rewards[j] = min(max(float32(x*scale[0]), -l.rewards), l.rewards)
		}
		agents := len(returns) / v.NumEnvs()
		for i := range v.NumEnvs() {
			if v.Terminated[i] || v.Truncated[i] {
				clear(returns[i*agents : (i+1)*agents])
			}
		}
	}
}

// Policy implements [agents.Learner]: the policy keeps the present statistics.
func (l *Learner) Policy() (agents.Policy, error) {
	p, err := l.Learner.Policy()
	if err != nil || l.clip == 0 {
		return p, err
	}
	tables := make([]*table, len(l.seen))
	for k, m := range l.seen {
		if m != nil {
			shift, scale := m.Affine()
			tables[k] = &table{slices.Clone(shift), slices.Clone(scale), float32(l.clip)}
		}
	}
	return &Policy{Policy: p, tables: tables}, nil
}

// parts is what a checkpoint holds beside the inner learner's state; statistics names those of its entries that belong to
// the weights.
func (l *Learner) parts() (p *saved.Parts, statistics []string) {
	p = saved.New("normalise", nil)
	p.Blobs["normalise.progress"] = &l.progress
	for what, list := range map[string][]*envs.Normalizer{"seen": l.seen, "earned": l.earned} {
		for k, m := range list {
			if m != nil {
				name := fmt.Sprintf("normalise.%s.%d", what, k)
				p.Blobs[name] = m
				statistics = append(statistics, name)
			}
		}
	}
	slices.Sort(statistics)
	return p, statistics
}

// Save implements [agents.Learner].
func (l *Learner) Save(s *agents.State) error {
	p, _ := l.parts()
	return saved.SaveBeside(l.Learner, p, s)
}

// Load implements [agents.Learner].
func (l *Learner) Load(s *agents.State) error {
	p, _ := l.parts()
	return saved.LoadBeside(l.Learner, p, s)
}

// pretrainedRows is how many observations the statistics of a policy count for: a policy does not say how many they were.
// With so many they move slowly.
const pretrainedRows = 1e6

// AdoptPolicy implements [agents.Pretrained], where the learner inside does.
func (l *Learner) AdoptPolicy(f *agents.PolicyFile) error {
	inside, ok := l.Learner.(agents.Pretrained)
	if !ok {
		return fmt.Errorf("normalise: %s cannot begin with a policy alone, want a full checkpoint", f.Agent)
	}
	inner, clip, _ := without(f)
	if clip != float32(l.clip) {
		return fmt.Errorf("normalise: what the policy sees is standardised within ±%g, want ±%g: see wrappers.normalize_observation "+
			"(0: as it is)", clip, l.clip)
	}
	seen, err := tables(f, l.seen, clip)
	if err != nil {
		return fmt.Errorf("normalise: %w", err)
	}
	p, _ := l.parts()
	return p.Beside(func() error {
		for k, t := range seen {
			if t == nil {
				continue
			}
			if err := l.seen[k].Adopt(t.shift, t.scale, pretrainedRows); err != nil {
				return fmt.Errorf("normalise: %w", err)
			}
		}
		return nil
	}, func() error { return inside.AdoptPolicy(inner) })
}

// Adopt implements [agents.Learner]: the statistics go with the weights.
func (l *Learner) Adopt(s *agents.State) error {
	p, statistics := l.parts()
	return saved.AdoptBeside(l.Learner, p, s, statistics...)
}
