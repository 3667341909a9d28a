package reinforce

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/internal/check"
	"github.com/stoker-rl/stoker/agents/internal/saved"
	"github.com/stoker-rl/stoker/agents/replay"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// model holds the policy and value networks for one kind of environment: vectors with one choice ([vectors]), or graphs
// with several ([graphModel]).
type model interface {
	kind() *envs.Kind
	// components are the numbers of choices of each component of an action.
	components() []int

	// newObservations returns empty memory, and record adds what an agent observes.
	newObservations() observations
	record(s observations, o *envs.KindObservation, agent int)

	// Act draws the actions of all agents, those of copy i from s[i], and writes their ln π by row. Rows that are taught
	// take that action. Legal is what was legal in the last Act, [rows, N], over all components.
	Act(v *envs.Vector, s []*rng.Stream, logp []float32, taught func(row int) []float32) error
	Legal() []bool
	// Sync copies the learned policy's parameters to the network that acts.
	Sync() error

	// policyGradient leaves the gradient of −J over a batch in the policy's Grads and returns −J; valueGradient does so
	// for ℓ and the value.
	policyGradient(b *batch) (loss float64, err error)
	valueGradient(b *batch) (loss float64, err error)
	// logProbs writes ln π(a|s) of a batch's rows. values writes V(s) of steps, by the target network where it is asked
	// for and exists.
	logProbs(b *batch, dst []float32) error
	values(target bool, at []stepRef, dst []float32) error
	// Optimisers are those of the policy and, where there is one, of the value. UpdateTarget moves the target network, if
	// any.
	Optimisers() []nets.Optimizer
	UpdateTarget(tau float64)
	Err() error

	// Save adds networks and optimisers to a state.
	Save(p *saved.Parts, prefix string)
	// Learned is the policy, and stream the name of its draws.
	Learned() (arch nets.Arch, params nets.Tensor)
	stream() string
}

// observations are what an agent saw, a row per step.
type observations interface {
	rows() int
	clear()
	state.Stater
}

// stepRef is one row of a trajectory: a step, or its end.
type stepRef struct {
	t    *trajectory
	step int
}

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
	draws             []*rng.Stream           // of each copy: explore, or in rounds the episode's
	taught            func(row int) []float32 // imitation.action
	round             round
}

var _ agents.Rounds = (*Learner)(nil)

// New returns a learner for the environment and engines of ctx. It fails where the configuration is wrong or the
// environment is not supported.
func New(c Config, ctx agents.Context) (*Learner, error) {
	return check.Learner(Name, build, c, ctx)
}

func build(c Config, ctx agents.Context) (*Learner, error) {
	l := &Learner{
		c: c, ctx: ctx, sequences: make([]int, ctx.NumEnvs),
		explore: rng.NewStream(ctx.Seed, "reinforce: exploration"), replayed: rng.NewStream(ctx.Seed, "reinforce: replay"),
	}
	var err error
	if l.m, err = newModel(&l.c, &l.ctx); err != nil {
		return nil, err
	}
	l.logp = make([]float32, ctx.NumEnvs*l.m.kind().Agents)
	l.draws = slices.Repeat([]*rng.Stream{l.explore}, ctx.NumEnvs)
	l.store = newStore(&l.c, l.m, ctx.NumEnvs)
	if err := l.store.recurs(&l.ctx); err != nil {
		return nil, err
	}
	if c.Imitate.Policy != "" {
		if l.imitation, err = newImitation(c.Imitate, &l.ctx); err != nil {
			return nil, fmt.Errorf("imitate.policy: %w", err)
		}
	}
	l.taught = l.imitation.action
	if c.Baseline == Counterfactual {
		if l.counterfactual, err = newCounterfactual(&l.c, &l.ctx); err != nil {
			return nil, err
		}
	}
	return l, l.m.Sync()
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
	if err := l.m.Act(v, l.draws, l.logp, l.taught); err != nil {
		return fmt.Errorf("reinforce: %w", err)
	}
	if err := l.counterfactual.judge(v, l.when(), l.ctx.FirstEnv, l.imitation); err != nil {
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
	l.count(v)
	k := l.m.kind().Agents
	for i := range l.ctx.NumEnvs {
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
			if here && !l.c.Rounds {
				l.sums.negLogProb -= float64(l.logp[i*k+j])
				l.sums.actions++
			}
		}
	}
	return nil
}

// Update implements [agents.Learner].
func (l *Learner) Update() error {
	if l.c.Rounds {
		if !l.endRound() {
			return nil
		}
	} else if len(l.store.done) < l.batchSize() {
		return nil
	}
	if err := l.learn(); err != nil {
		return fmt.Errorf("reinforce: %w", err)
	}
	l.store.release()
	if err := l.m.Sync(); err != nil {
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
func (l *Learner) Policy() (agents.Policy, error) {
	arch, params := l.m.Learned()
	from := actor.Source{Agent: Name, Stream: l.m.stream(), Spec: l.ctx.Spec, Train: l.ctx.Train, Act: l.ctx.Act}
	return from.Policy(actor.Part{Kind: actor.Kind{Head: actor.Softmax, Network: actor.Network{Arch: arch}}, Params: params})
}

// metrics are sums since [Learner.Metrics] was last called.
type metrics struct {
	policyLoss, valueLoss, policyNorm, valueNorm, explained, weight float64
	negLogProb, actions                                             float64 // Σ −ln π of choices, and their number
	rows, updates, valueUpdates                                     float64
}

// Metrics implements [agents.Learner]. Means are over the updates since the last call, and are left out where there
// were none:
//
//	train/policy_loss       −J: the mean of −A·ln π(a) less the entropy bonus
//	train/value_loss        the mean of (V − G)², of scaled rewards, over the value's gradient steps
//	train/policy_grad_norm, train/value_grad_norm   before clipping
//	train/explained         the share of the returns' variance that the value explained before the update
//	train/entropy           of the policy as it acted: the mean of −ln π(a)
//	train/rows              steps that an update learned from
//	train/weight            mean importance weight of replayed trajectories, where there is replay
//	train/n_updates         of the policy since the beginning
func (l *Learner) Metrics(f func(name string, value float64)) {
	m := &l.sums
	if m.updates > 0 {
		f("train/policy_loss", m.policyLoss/m.updates)
		f("train/policy_grad_norm", m.policyNorm/m.updates)
		if l.c.Baseline == Value {
			f("train/value_loss", m.valueLoss/m.valueUpdates)
			f("train/value_grad_norm", m.valueNorm/m.valueUpdates)
			f("train/explained", m.explained/m.updates)
		}
		f("train/rows", m.rows/m.updates)
		if l.c.Replay.Trajectories > 0 {
			f("train/weight", m.weight/m.updates)
		}
	}
	if m.actions > 0 {
		f("train/entropy", m.negLogProb/m.actions)
	}
	f("train/n_updates", float64(l.m.Optimisers()[0].Steps()))
	*m = metrics{}
}

// State lists what is neither a tensor nor a count.
func (l *Learner) State(c *state.Codec) {
	state.Value(c, l.explore)
	state.Value(c, l.replayed)
	state.Value(c, &l.sums)
	c.Part(l.store)
	if l.imitation != nil {
		c.Part(l.imitation)
	}
}

// parts is what a checkpoint holds.
func (l *Learner) parts() *saved.Parts {
	p := saved.New(Name, l.ctx.Train)
	l.m.Save(p, "")
	p.Counters["steps"] = &l.steps
	p.Blobs["learner"] = l
	return p
}

// Save implements [agents.Learner].
func (l *Learner) Save(s *agents.State) error {
	if l.round.ticks > 0 {
		return errors.New("reinforce: a round is under way, want Save between rounds")
	}
	return l.parts().Save(s)
}

// Load implements [agents.Learner].
func (l *Learner) Load(s *agents.State) error {
	l.acted = false
	return errors.Join(l.parts().Load(s), l.m.Sync())
}

// AdoptPolicy implements [agents.Pretrained]: the value begins anew.
func (l *Learner) AdoptPolicy(f *agents.PolicyFile) error {
	return actor.AdoptPolicy(l, f, l.ctx.Spec, func(_ int, params, _ agents.Array, s *agents.State) error {
		s.Weights["policy"] = params
		return nil
	})
}

// Adopt implements [agents.Learner].
func (l *Learner) Adopt(s *agents.State) error {
	return errors.Join(l.parts().Adopt(s), l.m.Sync())
}
