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

	m              model
	store          *store
	batch          batch
	imitation      *imitation      // nil where none is configured
	counterfactual *counterfactual // nil with other baselines

	logp      []float32 // ln π of the last Act's choices, by row
	sequences []int     // of the episode in which the last Act was, by copy
	acted     bool
	steps     int64 // environment steps over all copies
	sums      metrics

	explore, replayed *rng.Stream
}

var _ agents.Learner = (*Learner)(nil)

// New returns a learner for the environment and engines of ctx. It fails where the configuration is wrong or the
// environment is not supported.
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
		c: c, ctx: ctx, sequences: make([]int, ctx.Copies),
		explore: rng.NewStream(ctx.Seed, "reinforce: exploration"), replayed: rng.NewStream(ctx.Seed, "reinforce: replay"),
	}
	var err error
	if l.m, err = newModel(&l.c, &l.ctx); err != nil {
		return nil, err
	}
	l.logp = make([]float32, ctx.Copies*l.m.kind().Agents)
	l.store = newStore(&l.c, l.m, ctx.Copies)
	if c.Imitate.Policy != "" {
		if l.imitation, err = newImitation(c.Imitate, &l.ctx); err != nil {
			return nil, fmt.Errorf("imitate.policy: %w", err)
		}
	}
	if c.Baseline == Counterfactual {
		if l.counterfactual, err = newCounterfactual(&l.c, &l.ctx); err != nil {
			return nil, err
		}
	}
	return l, l.m.syncActor()
}

// newModel chooses the model by the observation space.
func newModel(c *Config, ctx *agents.Context) (model, error) {
	if len(ctx.Spec.Kinds) == 1 {
		if _, ok := ctx.Spec.Kinds[0].Observation.(envs.Graph); ok {
			return newGraphs(c, ctx)
		}
	}
	return newVectors(c, ctx)
}

// Act implements [agents.Learner]: it draws from the policy, or does as the teacher does.
func (l *Learner) Act(v *envs.Vector) error {
	for i := range l.sequences {
		var err error
		if l.sequences[i], err = l.store.sequence(v.Env(i)); err != nil {
			return fmt.Errorf("reinforce: environment %d: %w", i, err)
		}
	}
	if err := l.imitation.act(v, l.steps); err != nil {
		return fmt.Errorf("reinforce: %w", err)
	}
	if err := l.m.act(v, l.explore, l.logp, l.imitation); err != nil {
		return fmt.Errorf("reinforce: %w", err)
	}
	if err := l.counterfactual.judge(v, l.steps, l.imitation); err != nil {
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
		err := l.store.observe(v, i, decision{
			logp: l.logp[i*k : (i+1)*k], counterfactual: l.counterfactual.of(i),
			sequence: l.sequences[i], imitated: l.imitation.active(i),
		})
		if err != nil {
			return fmt.Errorf("reinforce: %w", err)
		}
		if v.Terminated[i] || v.Truncated[i] {
			l.imitation.end(i)
		}
		for j, here := range v.Before.Env(i).Kinds[0].Active {
			if here {
				l.sums.negLogProb -= float64(l.logp[i*k+j])
				l.sums.actions++
			}
		}
	}
	return nil
}

// Update implements [agents.Learner].
func (l *Learner) Update() error {
	if len(l.store.done) < l.batchSize() {
		return nil
	}
	if err := l.learn(); err != nil {
		return fmt.Errorf("reinforce: %w", err)
	}
	l.store.release()
	if err := l.m.syncActor(); err != nil {
		return fmt.Errorf("reinforce: %w", err)
	}
	return nil
}

// imitating reports whether the present batch is a teacher's.
func (l *Learner) imitating() bool { return len(l.store.done) > 0 && l.store.done[0].imitated }

// batchSize is the number of trajectories in the present batch.
func (l *Learner) batchSize() int {
	if l.imitating() && l.c.Imitate.Episodes > 0 {
		return l.c.Imitate.Episodes
	}
	return l.c.Episodes
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
