package explain

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// Request says what to explain, and how thoroughly.
type Request struct {
	// Env is the environment, Policy acts in it, Act is the engine that it acts on.
	Env    envs.Env
	Policy agents.Policy
	Act    nets.Engine
	// Seeds are the episodes', at least two.
	Seeds []uint64
	// States is the most that are explained, spread evenly over what was seen; 0 takes all.
	States int
	// Steps is the number of points on the way from the mean state to each state.
	Steps int
	// Replay plays every episode again for each feature, shuffled.
	Replay bool
	// Progress, where set, is told how many of how many episodes have been played.
	Progress func(done, all int)
}

// mostRows is the most states that go through the policy at a time.
const mostRows = 128

func (r *Request) check() error {
	switch {
	case r.Env == nil || r.Policy == nil || r.Act == nil:
		return errors.New("environment, policy or engine is missing")
	case len(r.Seeds) < 2:
		return fmt.Errorf("%d episodes, want at least 2: without more there are no intervals", len(r.Seeds))
	case r.States < 0:
		return fmt.Errorf("states is %d, want at least 1, or 0 for all", r.States)
	case r.Steps < 1:
		return fmt.Errorf("steps is %d, want at least 1", r.Steps)
	case len(r.Env.Spec().Kinds) != 1:
		return fmt.Errorf("%s has %d kinds of agents, want one", r.Env.Spec().ID, len(r.Env.Spec().Kinds))
	}
	return nil
}

// Explain plays the episodes and explains what the policy did in them. Where ctx ends it ends within an episode's
// time and returns ctx's cause.
func Explain(ctx context.Context, r Request) (*Explanation, error) {
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}
	open, ok := r.Policy.(agents.Transparent)
	if !ok {
		return nil, fmt.Errorf("explain: policy %s doesn't show what its decisions depend on", r.Policy.Name())
	}
	x, err := open.Insight(r.Act, min(r.Steps, mostRows))
	if err != nil {
		return nil, err
	}
	all := len(r.Seeds)
	if r.Replay {
		all *= 1 + r.Env.Spec().Kinds[0].Observation.Width()
	}
	played := 0
	tell := func() {
		played++
		if r.Progress != nil {
			r.Progress(played, all)
		}
	}
	seen, err := watch(ctx, &r, tell)
	if err != nil {
		return nil, err
	}
	w := newWork(&r, x, seen.thin(r.States))
	if err := w.attribute(ctx); err != nil {
		return nil, err
	}
	if err := w.shuffle(); err != nil {
		return nil, err
	}
	if err := w.attend(); err != nil {
		return nil, err
	}
	e := w.conclude()
	if r.Replay {
		if err := replay(ctx, &r, seen, e, tell); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// record is what was seen in episodes.
type record struct {
	values  []float32 // [states, agents × width]
	active  []bool    // [states, agents]
	mask    []bool    // [states, agents × choices]
	episode []int
	returns []float64

	width, agents, choices int
}

func (r *record) states() int { return len(r.episode) }

func (r *record) state(i int) []float32 { return r.values[i*r.width:][:r.width] }

// watch plays the episodes.
func watch(ctx context.Context, r *Request, tell func()) (*record, error) {
	k := &r.Env.Spec().Kinds[0]
	rec := &record{width: k.Agents * k.Observation.Width(), agents: k.Agents, choices: k.Agents * k.Action.MaskWidth()}
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

// thin keeps at most n states, evenly spread.
func (r *record) thin(n int) *record {
	if n == 0 || n >= r.states() {
		return r
	}
	t := &record{returns: r.returns, width: r.width, agents: r.agents, choices: r.choices}
	for i := range n {
		s := i * r.states() / n
		t.values, t.episode = append(t.values, r.state(s)...), append(t.episode, r.episode[s])
		t.active = append(t.active, r.active[s*r.agents:][:r.agents]...)
		t.mask = append(t.mask, r.mask[s*r.choices:][:r.choices]...)
	}
	return t
}
