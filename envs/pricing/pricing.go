package pricing

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/envs/workload"
)

// ID is the pricing environment's versioned name.
const ID = "stoker/Pricing-v1"

// Pricing is stoker/Pricing-v1: a step is a window, and a scheduling policy inside acts in its slots.
type Pricing struct {
	*world
	spec, slotSpec *envs.Spec
	scheduler      envs.Policy // of the scheduling environment
	own            bool        // the scheduler is the default, whose actions need no check
	maker          Maker       // makes the scheduler; nil where the caller gave a policy
	obs            *envs.Observation
	act            *envs.Action
}

// Maker makes a scheduling policy for environments such as one of the scheduling environment.
type Maker func(*Slots) (envs.Policy, error)

// New makes the pricing environment. The scheduler acts on [Slots]'s spec, and the configuration then takes its name;
// nil is the paper's, [ARMS].
func New(c Config, w workload.Config, scheduler envs.Policy) (*Pricing, error) {
	if scheduler != nil {
		c.Scheduler = scheduler.Name()
	}
	if c.Acts == ActsMoves {
		return nil, fmt.Errorf("%s: %w", ID, fieldError("acts", c.Acts, ActsCounts+": moves are for "+SlotsID))
	}
	o, err := newWorld(c, w, ID)
	if err != nil {
		return nil, err
	}
	e := &Pricing{world: o, spec: o.observer.spec, slotSpec: o.slotObserver.spec, scheduler: scheduler}
	if e.scheduler == nil {
		if c.Scheduler != ARMSName {
			return nil, fmt.Errorf("%s: %w", ID, fieldError("scheduler", c.Scheduler,
				ARMSName+"; others are agents, and catalog's NewEnv puts them inside"))
		}
		if e.scheduler, err = NewARMS(c.ARMS, &e.cfg); err != nil {
			return nil, fmt.Errorf("%s: %w", ID, err)
		}
		e.own = true
	}
	e.obs, e.act = envs.NewObservation(e.slotSpec), envs.NewAction(e.slotSpec)
	o.makeOffers()
	return e, nil
}

// Compose makes the pricing environment and the scheduler inside it. [Pricing.NewEnv] can then make more of both.
func Compose(c Config, w workload.Config, m Maker) (*Pricing, error) {
	s, err := NewSlots(c, w, nil)
	if err != nil {
		return nil, err
	}
	p, err := m(s)
	if err != nil {
		return nil, fmt.Errorf("%s: scheduler: %w", ID, err)
	}
	e, err := New(c, w, p)
	if err != nil {
		return nil, err
	}
	e.maker = m
	return e, nil
}

// NewEnv makes another environment of the same configuration and workload, between episodes: one to try actions on by
// CopyFrom. A given scheduler replaces the one inside, and the two environments can then not be copied from one
// another. nil makes a scheduler of the same kind, which is an error where [New] was given a policy and no [Maker].
func (e *Pricing) NewEnv(scheduler envs.Policy) (*Pricing, error) {
	switch {
	case scheduler != nil || e.own:
		return New(e.cfg, e.workload, scheduler)
	case e.maker != nil:
		return Compose(e.cfg, e.workload, e.maker)
	}
	return nil, fmt.Errorf("%s: NewEnv cannot make a scheduler %s: give one, or make the environment by Compose", ID,
		e.scheduler.Name())
}

// Spec implements [envs.Env].
func (e *Pricing) Spec() *envs.Spec { return e.spec }

// Config returns the environment's configuration, which must not be changed.
func (e *Pricing) Config() *Config { return &e.cfg }

// Meters returns what the last observation was made from: the numbers that a provider would measure. They are those of
// this environment's own Reset or Step, not of one that it was copied from, and change with the next.
func (e *Pricing) Meters() *Meters { return &e.meters }

// Reset implements [envs.Env]. The option start is the window of the load at which the episode begins.
func (e *Pricing) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if err := e.begin(seed, options); err != nil {
		return err
	}
	if err := e.scheduler.Reset(seed); err != nil {
		e.phase = unbegun
		return err
	}
	e.seeWindow(obs)
	return nil
}

// Step implements [envs.Env]. Baselines beyond the vGPUs are projected as the paper does; the reward is the window's
// profit (eq. 3).
func (e *Pricing) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if e.phase != running {
		return fmt.Errorf("%s: %w", e.id, errOver)
	}
	if err := envs.CheckAction(e.spec, nil, act); err != nil {
		return e.nameWrong(act, err)
	}
	e.setWindow(act.Kinds[0])
	e.beginWindow()
	e.seeGiven(e.obs)
	for range e.cfg.Slots {
		e.beginSlot()
		e.seeSlot(e.obs)
		if err := e.schedule(); err != nil {
			// The window cannot be undone: the episode ends here.
			e.phase = unbegun
			return err
		}
		e.apply(e.act.Kinds[0])
		e.endSlot()
	}
	e.report(out.Info, e.winAcc)
	out.Rewards[0][0] = float32(profit(e.winAcc))
	if e.done() {
		e.phase = over
	}
	out.Terminated, out.Truncated, out.Elapsed = false, e.phase == over, e.spec.Step.Fixed
	e.seeWindow(obs)
	return nil
}

// nameWrong adds the name of the price or baseline to an error about an action outside its space.
func (e *Pricing) nameWrong(act *envs.Action, err error) error {
	k := &e.spec.Kinds[0]
	box := k.Action.(envs.Box)
	if len(act.Kinds) != 1 || len(act.Kinds[0]) != len(k.Actions) {
		return err
	}
	for i, x := range act.Kinds[0] {
		if whole := x == float32(math.Trunc(float64(x))); !(x >= box.Low[i] && x <= box.High[i]) || box.Integer[i] && !whole {
			return fmt.Errorf("%s: %s: %w", e.id, k.Actions[i], err)
		}
	}
	return err
}

// schedule asks the scheduler.
func (e *Pricing) schedule() error {
	if err := e.scheduler.Act(e.obs, e.act, true); err != nil {
		return fmt.Errorf("%s: scheduler %s: %w", e.id, e.scheduler.Name(), err)
	}
	if e.own {
		return nil
	}
	if err := envs.CheckAction(e.slotSpec, nil, e.act); err != nil {
		return fmt.Errorf("%s: scheduler %s: %w", e.id, e.scheduler.Name(), err)
	}
	return nil
}

// CopyFrom implements [envs.Env]. The scheduler's state is copied too.
func (e *Pricing) CopyFrom(src envs.Env) error { return envs.CopyState(e, src) }

// AppendBinary implements [envs.Env].
func (e *Pricing) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, ID, e) }

// UnmarshalBinary implements [envs.Env].
func (e *Pricing) UnmarshalBinary(b []byte) error { return state.Load(b, ID, e) }

// State implements [state.Stater].
func (e *Pricing) State(c *state.Codec) { e.list(c, e.scheduler) }
