package pricing

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/envs/workload"
)

// SlotsID is the scheduling environment's versioned name.
const SlotsID = "stoker/PricingSlots-v1"

// Slots is stoker/PricingSlots-v1: a step is a slot, and a window policy inside sets prices and baselines.
type Slots struct {
	*world
	spec, priceSpec *envs.Spec
	prices          envs.Policy // of the pricing environment
	own             bool        // it is the default
	obs             *envs.Observation
	act             *envs.Action
	counted         []float32 // the numbers that moves stand for
	switches        []Switches
	keepBefore      []int32 // keep-alive vGPUs of the functions before the slot's decisions
}

// NewSlots makes the scheduling environment. The window policy acts on [Pricing]'s spec; nil holds the configured
// prices and baselines.
func NewSlots(c Config, w workload.Config, prices envs.Policy) (*Slots, error) {
	o, err := newWorld(c, w, SlotsID)
	if err != nil {
		return nil, err
	}
	e := &Slots{world: o, spec: o.slotObserver.spec, priceSpec: o.observer.spec, prices: prices, own: prices == nil}
	if e.own {
		e.prices = NewStatic(&e.cfg)
	}
	e.obs, e.act = envs.NewObservation(e.priceSpec), envs.NewAction(e.priceSpec)
	o.makeOffers()
	if e.cfg.Acts == ActsMoves {
		e.counted, e.switches = make([]float32, len(o.fn)*Acts), make([]Switches, len(o.fn))
	}
	e.keepBefore = make([]int32, len(o.fn))
	return e, nil
}

// NewEnv makes another environment of the same configuration and workload, between episodes, with the given window
// policy inside. nil holds the configured prices and baselines, which is an error where the environment has a policy of
// another kind.
func (e *Slots) NewEnv(prices envs.Policy) (*Slots, error) {
	if prices == nil && !e.own {
		return nil, fmt.Errorf("%s: NewEnv cannot make a window policy %s: give one", SlotsID, e.prices.Name())
	}
	return NewSlots(e.cfg, e.workload, prices)
}

// Spec implements [envs.Env].
func (e *Slots) Spec() *envs.Spec { return e.spec }

// PriceSpec describes what the window policy sees and does.
func (e *Slots) PriceSpec() *envs.Spec { return e.priceSpec }

// Config returns the environment's configuration, which must not be changed.
func (e *Slots) Config() *Config { return &e.cfg }

// Meters returns what the last observation was made from, as [Pricing.Meters] does.
func (e *Slots) Meters() *SlotMeters { return &e.slotMeters }

var errOver = errors.New("the episode is over, or has not begun: Reset comes first")

// Reset implements [envs.Env]. The option start is the window of the load at which the episode begins.
func (e *Slots) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if err := e.begin(seed, options); err != nil {
		return err
	}
	if err := e.prices.Reset(seed); err != nil {
		return err
	}
	if err := e.decide(); err != nil {
		e.phase = unbegun
		return err
	}
	e.beginSlot()
	e.seeGiven(obs)
	e.seeSlot(obs)
	return nil
}

// decide asks the window policy and begins its window.
func (e *Slots) decide() error {
	e.seeWindow(e.obs)
	if err := e.prices.Act(e.obs, e.act, true); err != nil {
		return fmt.Errorf("%s: window policy %s: %w", e.id, e.prices.Name(), err)
	}
	if err := envs.CheckAction(e.priceSpec, nil, e.act); err != nil {
		return fmt.Errorf("%s: window policy %s: %w", e.id, e.prices.Name(), err)
	}
	e.setWindow(e.act.Kinds[0])
	e.beginWindow()
	return nil
}

// Step implements [envs.Env]. Agents share one reward, the slot's part of eq. 5 taken negative, or have what their own
// functions cost.
func (e *Slots) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if e.phase != running {
		return fmt.Errorf("%s: %w", e.id, errOver)
	}
	if err := envs.CheckAction(e.spec, nil, act); err != nil {
		return err
	}
	decided := act.Kinds[0]
	if e.counted != nil {
		decided = e.counts(decided)
	}
	copy(e.keepBefore, e.keep)
	e.apply(decided)
	e.endSlot()
	e.report(out.Info, e.lastAcc)
	if e.cfg.Rewards == OwnRewards {
		e.rewardOwn(e.keepBefore, out.Rewards[0])
	} else {
		cost := e.lastAcc[accGPU] + e.lastAcc[accSwitch] + e.lastAcc[accSLA]
		for f := range out.Rewards[0] {
			out.Rewards[0][f] = float32(-cost)
		}
	}
	ended := e.done()
	if e.windowDone() {
		if err := e.decide(); err != nil {
			e.phase = unbegun
			return err
		}
	}
	e.beginSlot()
	if ended {
		e.phase = over
	}
	out.Terminated, out.Truncated, out.Elapsed = false, ended, e.spec.Step.Fixed
	e.seeGiven(obs)
	e.seeSlot(obs)
	return nil
}

// CopyFrom implements [envs.Env]. The window policy's state is copied too.
func (e *Slots) CopyFrom(src envs.Env) error { return envs.CopyState(e, src) }

// AppendBinary implements [envs.Env].
func (e *Slots) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, SlotsID, e) }

// UnmarshalBinary implements [envs.Env].
func (e *Slots) UnmarshalBinary(b []byte) error { return state.Load(b, SlotsID, e) }

// State implements [state.Stater].
func (e *Slots) State(c *state.Codec) { e.list(c, e.prices) }
