package reinforce

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/agents/replay"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// Name is the learner's name in the table of agents and in policy files.
const Name = "reinforce"

// Learner is REINFORCE.
type Learner struct {
	c   Config
	ctx agents.Context
	p   choice.Problem

	update *update
	store  *store
	lesson lesson
	actor  *choice.Actor
	params []float32 // on their way from the net that learns to the one that acts
	probs  []float64
	logp   []float32 // of what the last Act did, by row
	sets   []int     // of the episode in which the last Act was, by copy
	acted  bool
	steps  int64 // of the environment, over all copies
	sums   metrics

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
	if ctx.Copies < 1 {
		return nil, fmt.Errorf("copies is %d, want at least 1", ctx.Copies)
	}
	if d := ctx.Train.Info().DType; d != nets.Float32.String() {
		return nil, fmt.Errorf("the engine computes in %s, want float32: states are saved as float32", d)
	}
	p, err := choice.NewProblem(ctx.Spec)
	if err != nil {
		return nil, err
	}
	rows := ctx.Copies * p.Agents
	l := &Learner{
		c: c, ctx: ctx, p: p, probs: make([]float64, p.N), logp: make([]float32, rows), sets: make([]int, ctx.Copies),
		explore: rng.NewStream(ctx.Seed, "reinforce: exploration"), replayed: rng.NewStream(ctx.Seed, "reinforce: replay"),
	}
	l.store = newStore(&l.c, &l.p, ctx.Copies)
	policy, value := p.Arch(c.Hidden, c.Activation, c.FinalBound, p.N), p.Arch(c.Hidden, c.Activation, 0, 1)
	if l.update, err = newUpdate(&l.c, policy, value, ctx.Train, rng.New(ctx.Seed, "reinforce: initial weights")); err != nil {
		return nil, err
	}
	net, err := ctx.Act.NewNet(policy)
	if err != nil {
		return nil, err
	}
	if l.actor, err = choice.NewActor(ctx.Act, net, rows); err != nil {
		return nil, err
	}
	l.params = make([]float32, nets.Size(net.Params()))
	return l, l.hand()
}

func (l *Learner) hand() error { return l.actor.Hand(l.ctx.Train, l.update.policy.net, l.params) }

// Act implements [agents.Learner]: it draws from the policy.
func (l *Learner) Act(v *envs.Vector) error {
	for i := range l.sets {
		var err error
		if l.sets[i], err = l.store.set(v.Env(i)); err != nil {
			return fmt.Errorf("reinforce: environment %d: %w", i, err)
		}
	}
	o, n := &v.Obs.Kinds[0], l.p.N
	if err := l.actor.Run(o.Values); err != nil {
		return fmt.Errorf("reinforce: acting: %w", err)
	}
	for i, here := range o.Active {
		v.Act.Kinds[0][i] = 0
		if !here {
			continue
		}
		logits, mask := l.actor.Row(i), o.Mask[i*n:(i+1)*n]
		if err := choice.Finite(logits); err != nil {
			return fmt.Errorf("reinforce: environment %d: %s %d: %w", i/l.p.Agents, l.p.Kind.Name, i%l.p.Agents, err)
		}
		choice.Softmax(l.probs, logits, mask)
		c := choice.Draw(l.probs, l.explore.Float64())
		if c == choice.None {
			return fmt.Errorf("reinforce: environment %d: %s %d has no legal choice", i/l.p.Agents, l.p.Kind.Name, i%l.p.Agents)
		}
		v.Act.Kinds[0][i] = float32(c)
		l.logp[i] = float32(portable.Log(l.probs[c]))
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
	k := l.p.Agents
	for i := range l.ctx.Copies {
		if v.ResetStep[i] {
			continue // the action was not used
		}
		if err := l.store.observe(v, i, l.logp[i*k:(i+1)*k], l.sets[i]); err != nil {
			return fmt.Errorf("reinforce: %w", err)
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
	if len(l.store.done) < l.c.Episodes {
		return nil
	}
	if err := l.learn(); err != nil {
		return fmt.Errorf("reinforce: %w", err)
	}
	l.store.release()
	if err := l.hand(); err != nil {
		return fmt.Errorf("reinforce: %w", err)
	}
	return nil
}

// anneal sets the rates of the present step.
func (l *Learner) anneal() {
	if l.c.Anneal == 0 {
		return
	}
	left := 1 - l.c.Anneal*min(1, float64(l.steps)/float64(max(1, l.ctx.Steps)))
	l.update.policyAdam.SetRate(left * l.c.Rate)
	if l.update.valueAdam != nil {
		l.update.valueAdam.SetRate(left * l.c.ValueRate)
	}
}

// learn is one update.
func (l *Learner) learn() error {
	u, x, m := l.update, &l.lesson, &l.sums
	l.anneal()
	if err := l.prepare(); err != nil {
		return err
	}
	if l.c.Standardise {
		x.standardise()
	}
	loss, err := u.policyGradient(x)
	if err != nil {
		return err
	}
	m.policyLoss += loss
	m.policyNorm += step(u.policyAdam)
	m.updates++
	m.rows += float64(x.rows())
	if l.c.Baseline == Value {
		m.explained += x.explained()
		for range l.c.ValueUpdates {
			if loss, err = u.valueGradient(x); err != nil {
				return err
			}
			m.valueLoss += loss
			m.valueNorm += step(u.valueAdam)
			m.valueUpdates++
		}
		if u.target != nil {
			u.e.Lerp(u.target.net.Params(), u.value.net.Params(), l.c.TargetTau)
		}
	}
	return u.e.Err()
}

// prepare makes a lesson of what has finished: values, returns, weights and advantages, not standardised.
func (l *Learner) prepare() error {
	u, x := l.update, &l.lesson
	x.begin(l.store.done, l.store.kept, l.c.Replay.Draw, l.replayed)
	if l.c.Baseline == Value {
		if err := l.values(); err != nil {
			return err
		}
	}
	x.returns(l.c.Lambda)
	if len(x.trajectories) > x.fresh {
		logits := make([]float32, x.rows()*u.n)
		if err := u.forward(&u.policy, x, logits); err != nil {
			return err
		}
		x.weigh(logits, l.c.Replay.Cap)
		for _, w := range x.weights[x.fresh:] {
			l.sums.weight += w / float64(len(x.weights)-x.fresh)
		}
	}
	x.advantages(l.c.Baseline)
	return nil
}

// values fills in V of every step's state and V' of the next one.
func (l *Learner) values() error {
	u, x := l.update, &l.lesson
	if err := u.forward(&u.value, x, x.value); err != nil {
		return err
	}
	after, of := x.value, &u.value
	if u.target != nil {
		of, after = u.target, make([]float32, x.rows())
		if err := u.forward(of, x, after); err != nil {
			return err
		}
	}
	var lasts []float32
	for _, t := range x.trajectories {
		if t.goes {
			lasts = append(lasts, t.last...)
		}
	}
	ends := make([]float32, len(lasts)/u.obs)
	if err := u.forwardOf(of, lasts, ends); err != nil {
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
func (l *Learner) Policy() (agents.Policy, error) {
	return choice.NewPolicy(Name, true, l.ctx.Spec, l.ctx.Train, l.update.policy.net, l.ctx.Act)
}

// OpenPolicy builds a policy from a file, for an environment that offers the same spaces, on the engine act.
func OpenPolicy(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (agents.Policy, error) {
	return choice.OpenPolicy(Name, true, f, spec, act)
}
