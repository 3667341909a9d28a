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
	costs           []float64 // what each function cost in the slot
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
	e.costs = make([]float64, len(o.fn))
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
	own := e.cfg.Rewards == OwnRewards
	clear(e.switched)
	e.apply(decided)
	if own {
		e.ownCosts(e.costs)
	}
	e.endSlot()
	e.report(out.Info, e.lastAcc)
	if own {
		e.rewardOwn(e.costs, out.Rewards[0])
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

// What a scheduler decides for a function in a slot, as [Config.Acts] names it.
const (
	// ActsCounts is five numbers of vGPUs: to switch on warm and cold, to release, to give and to take.
	ActsCounts = "counts"
	// ActsMoves is one choice, by how many vGPUs the function's deployment changes: see [MostOff]. It is what learners of
	// choices take.
	ActsMoves = "moves"
)

// Whose cost an agent's reward is, as [Config.Rewards] names it.
const (
	// SharedRewards give every agent the whole slot's cost.
	SharedRewards = "shared"
	// OwnRewards give each agent what its own function costs; the sum over agents is the slot's cost.
	OwnRewards = "own"
)

// A move is choice k of 0 to MostOff + MostOn, which adds k − MostOff vGPUs. To remove some, idle transient ones are
// released, then idle keep-alive ones are offered to the tier. To add some, warm ones are switched on, then any that
// are off, then the tier's offers are taken.
const (
	MostOff = 4
	MostOn  = 8
	Moves   = MostOff + 1 + MostOn
)

// counts translates moves into numbers of vGPUs.
func (e *Slots) counts(moves []float32) []float32 {
	if !e.measured { // since the state was copied or loaded
		e.measureSlot()
	}
	e.slotObserver.moves(moves, &e.slotMeters, e.switches)
	for f := range e.switches {
		x, a := &e.switches[f], (*[Acts]float32)(e.counted[f*Acts:])
		a[ActWarm], a[ActCold], a[ActRelease] = float32(x.Warm), float32(x.Cold), float32(x.Release)
		a[ActGive], a[ActTake] = float32(x.Give), float32(x.Take)
	}
	return e.counted
}

// ownCosts writes each function's part of the cost of the slot whose decisions are carried out. A switch is charged to the
// function that gets the vGPU.
func (w *world) ownCosts(costs []float64) {
	c := &w.cfg.Costs
	for f := range w.fn {
		charged := w.trans[f]
		switch {
		case w.cfg.Pool == Fixed:
			charged = 0
		case c.Deployed == CountAll:
			charged += w.keep[f]
		}
		costs[f] = float64(c.GPU*float64(charged)) + float64(w.cfg.Tiers[w.fn[f].tier].Penalty*float64(w.violated[f])) +
			float64(c.Switch*float64(w.switched[f]))
	}
}

// rewardOwn writes the negative of each function's part of the last slot's cost. Costs that belong to no function are
// split evenly.
func (w *world) rewardOwn(costs []float64, rewards []float32) {
	rest := w.lastAcc[accGPU] + w.lastAcc[accSwitch] + w.lastAcc[accSLA]
	for f, cost := range costs {
		rest -= cost
		rewards[f] = float32(-cost)
	}
	for f := range w.fn {
		rewards[f] -= float32(rest / float64(len(w.fn)))
	}
}

// Mover lets a policy that decides counts act in an environment of moves: the move is what it would switch on and take,
// less what it would release and give. What exceeds the largest move waits for the next slot.
type Mover struct {
	envs.Policy
	counts *envs.Action
}

// NewMover wraps a policy for environments such as s.
func NewMover(p envs.Policy, s *Slots) *Mover {
	return &Mover{p, &envs.Action{Kinds: [][]float32{make([]float32, len(s.fn)*Acts)}}}
}

// Act implements [envs.Policy].
func (p *Mover) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	if err := p.Policy.Act(obs, p.counts, deterministic); err != nil {
		return err
	}
	a := p.counts.Kinds[0]
	for f := range act.Kinds[0] {
		o := a[f*Acts : (f+1)*Acts]
		move := o[ActWarm] + o[ActCold] + o[ActTake] - o[ActRelease] - o[ActGive]
		act.Kinds[0][f] = min(max(move, -MostOff), MostOn) + MostOff
	}
	return nil
}

// CopyFrom implements [envs.Policy].
func (p *Mover) CopyFrom(src envs.Policy) error {
	s, ok := src.(*Mover)
	if !ok {
		return fmt.Errorf("%s: cannot be copied from a %T", p.Name(), src)
	}
	return p.Policy.CopyFrom(s.Policy)
}

// Static is a window policy that holds a configuration's prices and baselines. It has no state.
type Static struct{ row []float32 }

// NewStatic returns the policy that holds c.Prices and c.Baselines.
func NewStatic(c *Config) *Static {
	p := &Static{}
	for _, x := range c.Prices {
		p.row = append(p.row, float32(x))
	}
	for _, n := range c.Baselines {
		p.row = append(p.row, float32(n))
	}
	return p
}

// Name implements [envs.Policy].
func (*Static) Name() string { return "static" }

// Reset implements [envs.Policy].
func (*Static) Reset(uint64) error { return nil }

// Act implements [envs.Policy].
func (p *Static) Act(_ *envs.Observation, act *envs.Action, _ bool) error {
	copy(act.Kinds[0], p.row)
	return nil
}

// CopyFrom implements [envs.Policy].
func (p *Static) CopyFrom(src envs.Policy) error { return envs.CopyPolicy(p, src) }

// AppendBinary implements [envs.Policy].
func (p *Static) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, p.Name(), p) }

// UnmarshalBinary implements [envs.Policy].
func (p *Static) UnmarshalBinary(b []byte) error { return state.Load(b, p.Name(), p) }

// State implements [state.Stater]: there is nothing to copy or save.
func (p *Static) State(c *state.Codec) { c.Same("number of tiers", uint64(len(p.row)/2)) }
