package spsa

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/envs"
)

// Propose writes what the world is to run where it runs the perturbed strategies itself: s⁺ and s⁻ of each pair in turn.
func (p *Pricer) Propose(act []float32) {
	if p.phase%2 == 0 {
		p.draw(p.searched[int(p.phase/2)%len(p.searched)])
		p.perturbed(1, p.above, act)
		return
	}
	p.perturbed(1, p.above, act) // of the window before, for the distance
	p.perturbed(-1, p.below, act)
}

// Told takes the profit of the window that ran what Propose wrote, and moves after the last pair.
func (p *Pricer) Told(profit float64) {
	if p.phase%2 == 0 {
		p.plus = profit
	} else {
		p.add(p.plus - profit)
	}
	if p.phase++; p.phase == p.cycle() {
		p.phase, p.worlds = 0, 1
		p.Move()
	}
}

// cycle is the number of the world's windows for one move.
func (p *Pricer) cycle() int64 { return 2 * int64(p.c.Pairs) * int64(len(p.searched)) }

// Tuner is the pricer within one episode without copies: the world itself runs the perturbed strategies, two or more windows for a
// move, and both windows of a pair face workloads of their own. That is what a provider without a simulator can do.
type Tuner struct{ pricer *Pricer }

var _ envs.Tuner = (*Tuner)(nil)

// NewTuner returns a tuner for environments such as env. The configuration must say realised: perturbed.
func NewTuner(c Config, env envs.Env) (*Tuner, error) {
	if c.Realised == Unperturbed {
		return nil, fmt.Errorf("spsa: realised is %q, which needs copies to try actions on: want a planner, or %q", c.Realised, Perturbed)
	}
	p, err := makePricer(c, env.Spec(), nil, 0)
	if err != nil {
		return nil, err
	}
	return &Tuner{p}, nil
}

// Name implements [envs.Tuner].
func (*Tuner) Name() string { return label + "-online" }

// Reset implements [envs.Tuner].
func (t *Tuner) Reset(seed uint64) error {
	t.pricer.Reset(seed)
	return nil
}

// Pricer is what the tuner moves, to read.
func (t *Tuner) Pricer() *Pricer { return t.pricer }

// Propose implements [envs.Tuner].
func (t *Tuner) Propose(_ *envs.Observation, act *envs.Action) error {
	t.pricer.Propose(act.Kinds[0])
	return nil
}

// Observe implements [envs.Tuner].
func (t *Tuner) Observe(act *envs.Action, out *envs.Outcome) error {
	if len(act.Kinds) != 1 || len(act.Kinds[0]) != len(t.pricer.x) {
		return errors.New("spsa: the action observed is not of the environment's size")
	}
	x := t.pricer.trials.realised(out.Rewards[0], out.Info)
	if err := finite(x, act.Kinds[0]); err != nil {
		return fmt.Errorf("spsa: %w", err)
	}
	t.pricer.Told(t.pricer.trials.sign * x)
	return nil
}

// AppendBinary implements [envs.Tuner].
func (t *Tuner) AppendBinary(b []byte) ([]byte, error) { return t.pricer.AppendBinary(b) }

// UnmarshalBinary implements [envs.Tuner].
func (t *Tuner) UnmarshalBinary(b []byte) error { return t.pricer.UnmarshalBinary(b) }
