package explain

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// Request says what to explain, and with which effort.
type Request struct {
	// Policy acts in Env; Act is the engine that computes its network.
	Env    envs.Env
	Policy agents.Policy
	Act    nets.Engine
	// Seeds are the workload seeds of the episodes, at least two.
	Seeds []uint64
	// States is the largest number of states to explain, at least two, spread evenly over those recorded; 0 explains all.
	States int
	// Steps is the number of points of the integral between the mean state and each state.
	Steps int
	// Replay plays every episode again for each feature, with that feature shuffled.
	Replay bool
	// Progress, where set, is told how many of how many episodes have been played.
	Progress func(done, all int)
}

// maxBatch is the largest number of states in one forward pass.
const maxBatch = 128

func (r *Request) check() error {
	switch {
	case r.Env == nil || r.Policy == nil || r.Act == nil:
		return errors.New("environment, policy or engine is missing")
	case len(r.Seeds) < 2:
		return fmt.Errorf("%d episodes, want at least 2: one gives no interval", len(r.Seeds))
	case r.States < 0, r.States == 1:
		return fmt.Errorf("states is %d, want at least 2, whose decisions are compared, or 0 for all", r.States)
	case r.Steps < 1:
		return fmt.Errorf("steps is %d, want at least 1", r.Steps)
	case len(r.Env.Spec().Kinds) != 1:
		return fmt.Errorf("%s has %d kinds of agents, want one", r.Env.Spec().ID, len(r.Env.Spec().Kinds))
	}
	return nil
}

// Explain plays the episodes and explains the policy's decisions in them. When ctx is cancelled it stops after the
// current episode at the latest and returns ctx's cause.
func Explain(ctx context.Context, r Request) (*Explanation, error) {
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}
	policy, ok := r.Policy.(agents.Transparent)
	if !ok {
		return nil, fmt.Errorf("explain: policy %s gives no gradients of its decisions (it is not an agents.Transparent)",
			r.Policy.Name())
	}
	x, err := policy.Insight(r.Act, min(r.Steps, maxBatch))
	if err != nil {
		return nil, err
	}
	all := len(r.Seeds)
	if r.Replay {
		all *= 1 + r.Env.Spec().Kinds[0].Observation.Width()
	}
	equal, err := equalWeights(&r)
	if err != nil {
		return nil, err
	}
	if equal != nil && r.Replay {
		all += len(r.Seeds)
	}
	played := 0
	tell := func() {
		played++
		if r.Progress != nil {
			r.Progress(played, all)
		}
	}
	seen, err := playEpisodes(ctx, &r, tell)
	if err != nil {
		return nil, err
	}
	w := newWork(&r, x, seen.subsample(r.States))
	if err := w.attribute(ctx); err != nil {
		return nil, err
	}
	if err := w.shuffle(); err != nil {
		return nil, err
	}
	if err := w.attend(equal); err != nil {
		return nil, err
	}
	e := w.explanation()
	if r.Replay {
		if err := replay(ctx, &r, seen, e, tell); err != nil {
			return nil, err
		}
		if err := replayEqual(ctx, &r, equal, seen, e, tell); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// recording holds the observed states of all episodes.
type recording struct {
	values  []float32 // [states, agents × width]
	active  []bool    // [states, agents]
	mask    []bool    // [states, agents × choices]
	episode []int     // [states]
	returns []float64 // [episodes]

	width, agents, choices int
}

func (r *recording) states() int { return len(r.episode) }

func (r *recording) state(i int) []float32 { return r.values[i*r.width:][:r.width] }

// playEpisodes plays the episodes and records what the agents observe.
func playEpisodes(ctx context.Context, r *Request, tell func()) (*recording, error) {
	k := &r.Env.Spec().Kinds[0]
	rec := &recording{width: k.Agents * k.Observation.Width(), agents: k.Agents, choices: k.Agents * k.Action.MaskWidth()}
	run := rollout.NewRunner(r.Env)
	for i, seed := range r.Seeds {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		run.OnStep = func(s rollout.Step) {
			o := &s.Seen.Kinds[0]
			rec.values, rec.active = append(rec.values, o.Values...), append(rec.active, o.Active...)
			rec.mask, rec.episode = append(rec.mask, o.Mask...), append(rec.episode, i)
		}
		ep, err := run.Episode(rollout.Actor{Policy: r.Policy}, seed)
		if err != nil {
			return nil, err
		}
		rec.returns = append(rec.returns, ep.Return)
		tell()
	}
	return rec, nil
}

// subsample returns at most n of the states, evenly spread; 0 means all.
func (r *recording) subsample(n int) *recording {
	if n == 0 || n >= r.states() {
		return r
	}
	t := &recording{returns: r.returns, width: r.width, agents: r.agents, choices: r.choices}
	for i := range n {
		s := i * r.states() / n
		t.values, t.episode = append(t.values, r.state(s)...), append(t.episode, r.episode[s])
		t.active = append(t.active, r.active[s*r.agents:][:r.agents]...)
		t.mask = append(t.mask, r.mask[s*r.choices:][:r.choices]...)
	}
	return t
}

// shuffled is a policy that observes one feature as it was in another, recorded state.
type shuffled struct {
	envs.Policy
	rec     *recording
	feature int
	width   int
	key     rng.Key
	step    uint64
	obs     envs.Observation
}

// Reset implements [envs.Policy].
func (s *shuffled) Reset(seed uint64) error {
	s.key, s.step = rng.New(seed, "explain: shuffled while playing").With(uint64(s.feature)), 0
	return s.Policy.Reset(seed)
}

// Act implements [envs.Policy].
func (s *shuffled) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	o := &s.obs.Kinds[0]
	from := obs.Kinds[0]
	from.Values = append(o.Values[:0], from.Values...)
	*o = from
	at := s.key.With(s.step).IntN(s.rec.states())
	s.step++
	for j, here := range o.Active {
		if here {
			o.Values[j*s.width+s.feature] = s.rec.state(at)[j*s.width+s.feature]
		}
	}
	return s.Policy.Act(&s.obs, act, deterministic)
}

// replay plays every episode again with each feature shuffled, and fills in the return that is lost.
func replay(ctx context.Context, r *Request, rec *recording, e *Explanation, tell func()) error {
	run := rollout.NewRunner(r.Env)
	for i := range e.Features {
		f := &e.Features[i]
		p := &shuffled{
			Policy: r.Policy, rec: rec, feature: f.index, width: r.Env.Spec().Kinds[0].Observation.Width(),
			obs: envs.Observation{Kinds: make([]envs.KindObservation, 1)},
		}
		var err error
		if f.Lost, err = lostWith(ctx, r, run, p, rec, tell); err != nil {
			return err
		}
	}
	return nil
}

// lostWith plays every episode again with another policy: the return that is lost.
func lostWith(ctx context.Context, r *Request, run *rollout.Runner, p envs.Policy, rec *recording, tell func()) (*Interval, error) {
	lost := make([]float64, len(r.Seeds))
	for s, seed := range r.Seeds {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		ep, err := run.Episode(rollout.Actor{Policy: p}, seed)
		if err != nil {
			return nil, err
		}
		lost[s] = rec.returns[s] - ep.Return
		tell()
	}
	return paired(lost), nil
}

// paired is the mean of paired differences with Student's t interval.
func paired(x []float64) *Interval {
	mean, n := stats.Mean(x), float64(len(x))
	half := student(n-1) * deviation(x) / math.Sqrt(n-1)
	return &Interval{mean, mean - half, mean + half}
}
