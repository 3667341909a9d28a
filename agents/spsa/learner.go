package spsa

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/replay"
	"github.com/stoker-rl/stoker/envs"
)

// Learner is the pricer over a vector of environments: all copies run the same action, and the estimates from all of
// them are averaged. The vector must reset its copies within the step that ends an episode ([envs.SameStep]), because
// an ended episode can't be stepped.
type Learner struct {
	ctx       agents.Context
	pricer    *Pricer
	act       []float32
	metrics   []string // names of the action's components
	acted     bool
	moved     bool    // a window has been run since the last Update
	objective float64 // mean of the objective over the copies in that window

	realised float64 // sum of the objective over the steps since the last metrics
	steps    int64   // the number of these steps
}

var _ agents.Learner = (*Learner)(nil)

// NewLearner returns a learner for the environments of ctx, which must be able to make one more for the trials. It
// fails where the configuration is wrong or does not fit the environment's action.
func NewLearner(c Config, ctx agents.Context) (*Learner, error) {
	switch {
	case ctx.Copies < 1:
		return nil, fmt.Errorf("spsa: copies is %d, want at least 1", ctx.Copies)
	case ctx.NewEnv == nil && c.Realised != Perturbed:
		return nil, errors.New("spsa: the context cannot make environments, want one to try actions on")
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("spsa: %w", err)
	}
	var spare envs.Env
	var err error
	if c.Realised == Unperturbed {
		if spare, err = ctx.NewEnv(); err != nil {
			return nil, fmt.Errorf("spsa: making an environment to try actions on: %w", err)
		}
	}
	l := &Learner{ctx: ctx}
	if l.pricer, err = makePricer(c, ctx.Spec, spare, ctx.Seed); err != nil {
		return nil, err
	}
	l.act = make([]float32, len(l.pricer.x))
	for _, name := range l.pricer.Names() {
		l.metrics = append(l.metrics, "train/"+strings.ReplaceAll(name, " ", "_"))
	}
	return l, nil
}

// Act implements [agents.Learner]: all copies run the action unperturbed, or all the same perturbed one.
func (l *Learner) Act(v *envs.Vector) error {
	online := l.pricer.c.Realised == Perturbed
	if online {
		l.pricer.Propose(l.act)
	} else {
		l.pricer.Action(l.act)
	}
	for i := range l.ctx.Copies {
		if !online {
			if err := l.pricer.Estimate(v.Env(i)); err != nil {
				return fmt.Errorf("environment %d: %w", i, err)
			}
		}
		copy(v.Act.Env(i).Kinds[0], l.act)
	}
	l.acted = true
	return nil
}

// Observe implements [agents.Learner].
func (l *Learner) Observe(v *envs.Vector) error {
	if !l.acted {
		return errors.New("spsa: Observe without Act before it")
	}
	l.acted, l.moved, l.objective = false, true, 0
	n, agentsEach := len(v.Spec().Info), v.Spec().Kinds[0].Agents
	for i := range l.ctx.Copies {
		x := l.pricer.trials.realised(v.Rewards[0][i*agentsEach:(i+1)*agentsEach], v.Info[i*n:(i+1)*n])
		if err := finite(x, l.act); err != nil {
			return fmt.Errorf("spsa: environment %d: %w", i, err)
		}
		l.objective += x / float64(l.ctx.Copies)
		l.realised += x
		l.steps++
	}
	return nil
}

// Update implements [agents.Learner].
func (l *Learner) Update() error {
	switch {
	case !l.moved:
	case l.pricer.c.Realised == Perturbed:
		l.pricer.Observe(l.pricer.trials.sign * l.objective)
	default:
		l.pricer.Move()
	}
	l.moved = false
	return nil
}

// Metrics implements [agents.Learner]:
//
//	train/objective     mean of the objective over the environments' own windows since the last call
//	train/gradient      length of the last estimate, each block in its Unit
//	train/step          e_t of the last move
//	train/n_updates     moves since the beginning
//	train/price_1 …     the present action, by the names of its components
func (l *Learner) Metrics(f func(name string, value float64)) {
	if l.steps > 0 {
		f("train/objective", l.realised/float64(l.steps))
		l.realised, l.steps = 0, 0
	}
	f("train/gradient", l.pricer.gradient)
	f("train/step", l.pricer.step)
	f("train/n_updates", float64(l.pricer.window))
	for i, name := range l.metrics {
		f(name, l.pricer.x[i])
	}
}

// Replay implements [agents.Learner]: there is none.
func (*Learner) Replay() *replay.Buffer { return nil }
