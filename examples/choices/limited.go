package choices

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
)

// Limited is [Replicas] with a mask: at one instance none can be stopped, at [Most] none can be started. Learners then
// never try what has no effect, and a policy cannot choose it.
type Limited struct{ Replicas }

// NewLimited returns the environment.
func NewLimited() (envs.Env, error) {
	return &Limited{Replicas{spec: replicasSpec("example/Limited-v1")}}, nil
}

// legal is whether a choice is.
func (l *Limited) legal(choice int) bool {
	after := l.instances + choice - Same
	return after >= 1 && after <= Most
}

// Reset implements [envs.Env].
func (l *Limited) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if err := l.Replicas.Reset(seed, options, obs); err != nil {
		return err
	}
	l.mask(obs)
	return nil
}

// mask writes the whole mask, at each Reset and Step. At least one choice of an agent that is active is legal.
func (l *Limited) mask(obs *envs.Observation) {
	for choice := range Choices {
		obs.Kinds[0].Mask[choice] = l.legal(choice)
	}
}

// Step implements [envs.Env].
func (l *Limited) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if err := envs.CheckAction(&l.spec, nil, act); err != nil {
		return err
	}
	if choice := int(act.Kinds[0][0]); l.running && !l.legal(choice) {
		return fmt.Errorf("%s: choice %d is not legal with %d instances", l.spec.ID, choice, l.instances)
	}
	if err := l.Replicas.Step(act, obs, out); err != nil {
		return err
	}
	l.mask(obs)
	return nil
}

// CopyFrom implements [envs.Env].
func (l *Limited) CopyFrom(src envs.Env) error { return envs.CopyState(l, src) }
