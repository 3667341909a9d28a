package spsa

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

// Tuner runs the pricer within one episode without copies, as [Learner] does over a vector with realised: perturbed.
// The proofs compare it with the planner.
type Tuner struct{ pricer *Pricer }

var _ envs.Tuner = (*Tuner)(nil)

// NewTuner returns a tuner for environments such as env. The configuration must say realised: perturbed.
func NewTuner(c Config, env envs.Env) (*Tuner, error) {
	if c.Realised == Unperturbed {
		return nil, fmt.Errorf("spsa: realised is %q, which needs copies to try actions on: want a planner, or %q",
			c.Realised, Perturbed)
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

// Pricer returns the tuner's pricer, to read.
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
	t.pricer.Observe(t.pricer.trials.sign * x)
	return nil
}

// AppendBinary implements [envs.Tuner].
func (t *Tuner) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, "pricer", t.pricer) }

// UnmarshalBinary implements [envs.Tuner].
func (t *Tuner) UnmarshalBinary(b []byte) error { return state.Load(b, "pricer", t.pricer) }
