package main

import (
	"fmt"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
)

// thermostat is the baseline's row.
var thermostat = catalog.DefinePolicy(catalog.Baseline{
	Name: "thermostat", Doc: "full power below a temperature, none above", Envs: []string{RoomID}, Source: source,
}, DefaultThermostat, NewThermostat)

// ThermostatConfig is what a configuration file may say of the baseline.
type ThermostatConfig struct {
	// Below is the temperature under which it heats, °C from 20.
	Below float64 `yaml:"below" json:"below" range:"[-20,20]"`
}

// DefaultThermostat heats below 20 °C.
func DefaultThermostat() ThermostatConfig { return ThermostatConfig{} }

// Thermostat is a rule to compare with: full power below a temperature, none above. It has no state.
type Thermostat struct {
	below, full float32
}

// NewThermostat returns the rule for environments such as env.
func NewThermostat(c ThermostatConfig, env envs.Env) (*Thermostat, error) {
	if err := bounds.Check(c); err != nil {
		return nil, fmt.Errorf("thermostat: %w", err)
	}
	box, ok := env.Spec().Kinds[0].Action.(envs.Box)
	if !ok {
		return nil, fmt.Errorf("thermostat: %s has actions %v, want a box", env.Spec().ID, env.Spec().Kinds[0].Action)
	}
	return &Thermostat{below: float32(c.Below), full: box.High[0]}, nil
}

// Name implements [envs.Policy].
func (*Thermostat) Name() string { return "thermostat" }

// Reset implements [envs.Policy].
func (*Thermostat) Reset(uint64) error { return nil }

// Act implements [envs.Policy].
func (p *Thermostat) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	act.Kinds[0][0] = 0
	if obs.Kinds[0].Values[0] < p.below {
		act.Kinds[0][0] = p.full
	}
	return nil
}

// CopyFrom implements [envs.Policy].
func (*Thermostat) CopyFrom(envs.Policy) error { return nil }

// AppendBinary implements [envs.Policy].
func (*Thermostat) AppendBinary(b []byte) ([]byte, error) { return b, nil }

// UnmarshalBinary implements [envs.Policy].
func (*Thermostat) UnmarshalBinary([]byte) error { return nil }
