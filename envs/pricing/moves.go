package pricing

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
)

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

// rewardOwn writes the negative of each function's part of the last slot's cost. keepBefore has each function's number
// of keep-alive vGPUs before the slot's decisions: a switch is charged to the function that gets the vGPU. Costs that
// belong to no function are split evenly.
func (w *world) rewardOwn(keepBefore []int32, rewards []float32) {
	c := &w.cfg.Costs
	rest := w.lastAcc[accGPU] + w.lastAcc[accSwitch] + w.lastAcc[accSLA]
	for f := range w.fn {
		charged := w.trans[f]
		switch {
		case w.cfg.Pool == Fixed:
			charged = 0
		case c.Deployed == CountAll:
			charged += w.keep[f]
		}
		cost := float64(c.GPU*float64(charged)) + float64(w.cfg.Tiers[w.fn[f].tier].Penalty*float64(w.violated[f])) +
			float64(c.Switch*float64(max(w.keep[f]-keepBefore[f], 0)))
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
