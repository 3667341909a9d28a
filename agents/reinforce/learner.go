package reinforce

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/check"
	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/agents/graphs"
	"github.com/stoker-rl/stoker/agents/replay"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// Name is the learner's name in the table of agents and in policy files.
const Name = "reinforce"

// Learner is REINFORCE.
type Learner struct {
	c   Config
	ctx agents.Context

	m      model
	store  *store
	lesson lesson
	logp   []float32 // of what the last Act did, by row
	sets   []int     // of the episode in which the last Act was, by copy
	acted  bool
	steps  int64 // of the environment, over all copies
	sums   metrics
	school *school // nil without one to imitate
	twins  *twins  // nil but with their baseline

	explore, replayed *rng.Stream
}

var _ agents.Learner = (*Learner)(nil)

// New returns a learner for the environment and engines of ctx. It fails where the configuration is wrong or the environment is not
// of those that the package supports.
func New(c Config, ctx agents.Context) (*Learner, error) {
	l, err := build(c, ctx)
	if err != nil {
		return nil, fmt.Errorf("reinforce: %w", err)
	}
	return l, nil
}

func build(c Config, ctx agents.Context) (*Learner, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := check.Context(&ctx); err != nil {
		return nil, err
	}
	l := &Learner{
		c: c, ctx: ctx, sets: make([]int, ctx.Copies),
		explore: rng.NewStream(ctx.Seed, "reinforce: exploration"), replayed: rng.NewStream(ctx.Seed, "reinforce: replay"),
	}
	var err error
	if l.m, err = newModel(&l.c, &l.ctx); err != nil {
		return nil, err
	}
	l.logp = make([]float32, ctx.Copies*l.m.kind().Agents)
	l.store = newStore(&l.c, l.m, ctx.Copies)
	if c.Imitate.Policy != "" {
		if l.school, err = newSchool(c.Imitate, &l.ctx); err != nil {
			return nil, fmt.Errorf("imitate.policy: %w", err)
		}
	}
	if c.Baseline == Twin {
		if l.twins, err = newTwins(&l.c, &l.ctx); err != nil {
			return nil, err
		}
	}
	return l, l.m.hand()
}

// newModel chooses by what the agents see.
func newModel(c *Config, ctx *agents.Context) (model, error) {
	if len(ctx.Spec.Kinds) == 1 {
		if _, ok := ctx.Spec.Kinds[0].Observation.(envs.Graph); ok {
			return newGraphs(c, ctx)
		}
	}
	return newVectors(c, ctx)
}

// Act implements [agents.Learner]: it draws from the policy.
func (l *Learner) Act(v *envs.Vector) error {
	for i := range l.sets {
		var err error
		if l.sets[i], err = l.store.set(v.Env(i)); err != nil {
			return fmt.Errorf("reinforce: environment %d: %w", i, err)
		}
	}
	if err := l.school.act(v, l.steps); err != nil {
		return fmt.Errorf("reinforce: %w", err)
	}
	if err := l.m.act(v, l.explore, l.logp, l.school); err != nil {
		return fmt.Errorf("reinforce: %w", err)
	}
	if err := l.twins.judge(v, l.steps, l.school); err != nil {
		return fmt.Errorf("reinforce: %w", err)
	}
	l.acted = true
	return nil
}

// Observe implements [agents.Learner].
func (l *Learner) Observe(v *envs.Vector) error {
	if !l.acted {
		return errors.New("reinforce: Observe without Act before it")
	}
	l.acted = false
	l.steps += int64(l.ctx.Copies)
	k := l.m.kind().Agents
	for i := range l.ctx.Copies {
		if v.ResetStep[i] {
			continue // the action was not used
		}
		if err := l.store.observe(v, i, l.logp[i*k:(i+1)*k], l.twins.of(i), l.sets[i], l.school.taught(i)); err != nil {
			return fmt.Errorf("reinforce: %w", err)
		}
		if v.Terminated[i] || v.Truncated[i] {
			l.school.end(i)
		}
		for j, here := range v.Before.Env(i).Kinds[0].Active {
			if here {
				l.sums.surprise -= float64(l.logp[i*k+j])
				l.sums.acts++
			}
		}
	}
	return nil
}

// Update implements [agents.Learner].
func (l *Learner) Update() error {
	if len(l.store.done) < l.waits() {
		return nil
	}
	if err := l.learn(); err != nil {
		return fmt.Errorf("reinforce: %w", err)
	}
	l.store.release()
	if err := l.m.hand(); err != nil {
		return fmt.Errorf("reinforce: %w", err)
	}
	return nil
}

// taught reports whether what waits for an update begins with what another policy did.
func (l *Learner) taught() bool { return len(l.store.done) > 0 && l.store.done[0].taught }

// waits is the number of trajectories that an update waits for.
func (l *Learner) waits() int {
	if l.taught() && l.c.Imitate.Episodes > 0 {
		return l.c.Imitate.Episodes
	}
	return l.c.Episodes
}

// rates sets the rates of the present step.
func (l *Learner) rates() {
	rate := l.c.Rate
	if l.taught() && l.c.Imitate.Rate > 0 {
		rate = l.c.Imitate.Rate
	}
	left := 1 - l.c.Anneal*min(1, float64(l.steps)/float64(max(1, l.ctx.Steps)))
	policy, value := l.m.adams()
	policy.SetRate(left * rate)
	if value != nil {
		value.SetRate(left * l.c.ValueRate)
	}
}

// learn is one update.
func (l *Learner) learn() error {
	x, m := &l.lesson, &l.sums
	l.rates()
	if err := l.prepare(); err != nil {
		return err
	}
	if l.c.Standardise {
		x.standardise()
	}
	policy, value := l.m.adams()
	epochs := 1
	if l.taught() {
		epochs = max(1, l.c.Imitate.Epochs)
	}
	for range epochs {
		loss, err := l.m.policyGradient(x)
		if err != nil {
			return fmt.Errorf("update %d: %w", policy.Steps()+1, err)
		}
		m.policyLoss += loss
		m.policyNorm += step(policy)
		m.updates++
		m.rows += float64(x.rows())
	}
	if l.c.Baseline == Value {
		m.explained += x.explained()
		for range l.c.ValueUpdates {
			loss, err := l.m.valueGradient(x)
			if err != nil {
				return fmt.Errorf("update %d of the value: %w", value.Steps()+1, err)
			}
			m.valueLoss += loss
			m.valueNorm += step(value)
			m.valueUpdates++
		}
		l.m.follow(l.c.TargetTau)
	}
	return l.m.err()
}

// prepare makes a lesson of what has finished: values, returns, weights and advantages, not standardised.
func (l *Learner) prepare() error {
	x := &l.lesson
	x.begin(l.store.done, l.store.kept, l.c.Replay.Draw, l.replayed)
	if l.c.Baseline == Value {
		if err := l.values(); err != nil {
			return err
		}
	}
	x.returns(l.c.Lambda)
	if len(x.trajectories) > x.fresh {
		logp := make([]float32, x.rows())
		if err := l.m.logProbs(x, logp); err != nil {
			return err
		}
		x.weigh(logp, l.c.Replay.Cap)
		for _, w := range x.weights[x.fresh:] {
			l.sums.weight += w / float64(len(x.weights)-x.fresh)
		}
	}
	x.advantages(l.c.Baseline)
	return nil
}

// values fills in V of every step's state and V' of the next one.
func (l *Learner) values() error {
	x := &l.lesson
	if err := l.m.values(false, x.places, x.value); err != nil {
		return err
	}
	after := x.value
	if l.c.TargetTau > 0 {
		after = make([]float32, x.rows())
		if err := l.m.values(true, x.places, after); err != nil {
			return err
		}
	}
	var lasts []place
	for _, t := range x.trajectories {
		if t.goes {
			lasts = append(lasts, place{t, t.steps})
		}
	}
	ends := make([]float32, len(lasts))
	if err := l.m.values(true, lasts, ends); err != nil {
		return err
	}
	row := 0
	for _, t := range x.trajectories {
		copy(x.next[row:row+t.steps-1], after[row+1:])
		if t.goes {
			x.next[row+t.steps-1], ends = ends[0], ends[1:]
		}
		row += t.steps
	}
	return nil
}

// Replay implements [agents.Learner]: old trajectories are part of the state.
func (l *Learner) Replay() *replay.Buffer { return nil }

// Policy implements [agents.Learner].
func (l *Learner) Policy() (agents.Policy, error) { return l.m.policy() }

// OpenPolicy builds a policy from a file, for an environment that offers the same spaces, on the engine act.
func OpenPolicy(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (agents.Policy, error) {
	if graphs.Describes(f) {
		return graphs.OpenPolicy(Name, f, spec, act)
	}
	return choice.OpenPolicy(Name, true, f, spec, act)
}
