package spsa

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/internal/saved"
	"github.com/stoker-rl/stoker/agents/replay"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
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
	case ctx.NumEnvs < 1:
		return nil, fmt.Errorf("spsa: NumEnvs is %d, want at least 1", ctx.NumEnvs)
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
	for i := range l.ctx.NumEnvs {
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
	for i := range l.ctx.NumEnvs {
		x := l.pricer.trials.realised(v.Rewards[0][i*agentsEach:(i+1)*agentsEach], v.Info[i*n:(i+1)*n])
		if err := finite(x, l.act); err != nil {
			return fmt.Errorf("spsa: environment %d: %w", i, err)
		}
		l.objective += x / float64(l.ctx.NumEnvs)
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

// State lists everything that the pricer needs to continue bit for bit.
func (p *Pricer) State(c *state.Codec) {
	state.Value(c, &p.window)
	state.Value(c, &p.worlds)
	state.Value(c, &p.gradient)
	state.Value(c, &p.step)
	state.Value(c, &p.phase)
	state.Value(c, &p.plus)
	for _, row := range [5][]float64{p.x, p.first, p.second, p.estimate, p.delta} {
		state.Fixed(c, row)
	}
	state.Value(c, p.stream)
	if c.Loaded() {
		c.Fail(p.check())
	}
}

// check reports what is wrong with a loaded pricer.
func (p *Pricer) check() error {
	switch {
	case p.window < 0 || p.window > saved.MaxCount || p.worlds < 0 || p.worlds > saved.MaxCount:
		return fmt.Errorf("window %d and %d estimates, want 0 to %d", p.window, p.worlds, int64(saved.MaxCount))
	case !(p.gradient >= 0 && p.gradient <= math.MaxFloat64 && p.step >= 0 && p.step <= 1):
		return fmt.Errorf("gradient %g and step %g, want finite ones from 0, the step at most 1", p.gradient, p.step)
	case p.phase < 0 || p.phase >= p.cycle():
		return fmt.Errorf("window %d of a move, want 0 to %d", p.phase, p.cycle()-1)
	case p.plus-p.plus != 0:
		return fmt.Errorf("profit %g, want a finite one", p.plus)
	}
	for i, name := range p.space.names {
		for _, m := range []struct {
			what string
			x    float64
		}{
			{"action", p.x[i]}, {"first moment", p.first[i]}, {"second moment", p.second[i]}, {"estimate", p.estimate[i]},
		} {
			if m.x-m.x != 0 {
				return fmt.Errorf("%s %g of %s, want a finite number", m.what, m.x, name)
			}
		}
		switch d := p.delta[i]; {
		case p.second[i] < 0:
			return fmt.Errorf("second moment %g of %s, want 0 or more", p.second[i], name)
		case d != 0 && d != 1 && d != -1:
			return fmt.Errorf("perturbation %g of %s, want -1, 0 or 1", d, name)
		case p.x[i] != p.space.clip(i, p.x[i]):
			return fmt.Errorf("%s %g, want at least %g and at most %g", name, p.x[i], p.space.low[i], p.space.high[i])
		}
	}
	return nil
}

// State lists the learner's own number; see parts for the rest.
func (l *Learner) State(c *state.Codec) {
	state.Value(c, &l.realised)
	c.Check(!math.IsNaN(l.realised), "sum of the objective is NaN")
}

// parts is what a checkpoint holds.
func (l *Learner) parts() *saved.Parts {
	p := saved.New(Name, nil)
	p.Blobs["pricer"], p.Blobs["objective"] = l.pricer, l
	p.Counters["summed_windows"] = &l.steps
	return p
}

// Save implements [agents.Learner].
func (l *Learner) Save(s *agents.State) error { return l.parts().Save(s) }

// Load implements [agents.Learner].
func (l *Learner) Load(s *agents.State) error {
	if err := l.parts().Load(s); err != nil {
		return err
	}
	l.acted, l.moved = false, false
	return nil
}

// Adopt implements [agents.Learner]: the search starts at the other run's action, with its own steps and perturbations.
func (l *Learner) Adopt(s *agents.State) error {
	mine := agents.NewState()
	p := l.parts()
	if err := p.Save(mine); err != nil {
		return err
	}
	if err := p.Adopt(s, "pricer"); err != nil {
		return err
	}
	x := append([]float64(nil), l.pricer.x...)
	if err := p.Load(mine); err != nil {
		return err
	}
	l.pricer.begin(x)
	return nil
}

// Name is the learner's name in the table of agents and in policy files; label is the policy's name in results.
const (
	Name  = "spsa"
	label = "pba"
)

// Policy implements [agents.Learner]: it holds the present action.
func (l *Learner) Policy() (agents.Policy, error) {
	a := make([]float32, len(l.pricer.x))
	l.pricer.Action(a)
	from := actor.Source{Agent: Name, Name: label, Spec: l.ctx.Spec}
	return from.Policy(actor.Part{Kind: actor.Kind{Head: actor.Held}, Held: a})
}
