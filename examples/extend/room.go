package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng"
)

// RoomID names the environment.
const RoomID = "example/Room-v1"

// room is its row.
var room = catalog.DefineEnv(catalog.Env{
	ID: RoomID, Doc: "keep a room at 20 °C, minute by minute", Source: source,
}, DefaultRoom, func(c RoomConfig, _ workload.Config) (*Room, error) { return NewRoom(c) })

// RoomConfig is what a configuration file may say of the room.
type RoomConfig struct {
	// Minutes is the length of an episode.
	Minutes int `yaml:"minutes" json:"minutes" range:"[1,1440]"`
	// Power is the heater's largest power, kW.
	Power float64 `yaml:"power" json:"power" range:"(0,100]"`
}

// DefaultRoom returns an hour with a heater of 3 kW.
func DefaultRoom() RoomConfig { return RoomConfig{Minutes: 60, Power: 3} }

// Room loses heat to the weather; each minute a heater chooses its power, to keep the room at 20 °C.
type Room struct {
	spec envs.Spec
	now
}

// now is the room's state.
type now struct {
	seed    uint64
	step    int
	running bool
	warmth  float64 // °C
}

// NewRoom returns a room.
func NewRoom(c RoomConfig) (*Room, error) {
	if err := bounds.Check(c); err != nil {
		return nil, fmt.Errorf("%s: %w", RoomID, err)
	}
	return &Room{spec: envs.Spec{
		ID: RoomID, Doc: "Each minute a heater chooses its power, to keep a room at 20 °C.",
		Kinds: []envs.Kind{{
			Name: "heater", Agents: 1, Observation: envs.Unbounded(2), Action: envs.NewBox(1, 0, float32(c.Power)),
			Features: []string{"inside", "outside"}, FeatureUnits: []string{"°C from 20", "°C from 20"},
			Actions: []string{"power"}, ActionUnits: []string{"kW"},
		}},
		Step: envs.Timing{Unit: "minute", Fixed: 60e6}, MaxSteps: c.Minutes,
		Info: []envs.Quantity{
			{Name: "off", Unit: "°C", Better: envs.Lower, Reduce: envs.Mean, Doc: "distance of the room from 20 °C"},
			{Name: "energy", Unit: "kWh", Better: envs.Lower, Reduce: envs.Sum, Doc: "energy that the heater used"},
		},
	}}, nil
}

// Spec implements [envs.Env].
func (r *Room) Spec() *envs.Spec { return &r.spec }

// weather is the only random quantity, keyed by the minute: every policy meets the same.
func (r *Room) weather(minute int) float64 {
	return 2*rng.New(r.seed, "weather").With(uint64(minute)).Norm() - 15
}

// Reset implements [envs.Env].
func (r *Room) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if len(options) > 0 {
		return fmt.Errorf("%s: it has no options", RoomID)
	}
	r.now = now{seed: seed, running: true}
	r.warmth = 14 + float64(4*rng.New(seed, "start").Float64())
	r.see(obs)
	return nil
}

func (r *Room) see(obs *envs.Observation) {
	k := &obs.Kinds[0]
	k.Values[0], k.Values[1], k.Active[0] = float32(r.warmth-20), float32(r.weather(r.step)), true
}

// Step implements [envs.Env].
func (r *Room) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if !r.running {
		return errors.New(RoomID + ": step outside an episode, want Reset")
	}
	if err := envs.CheckAction(&r.spec, nil, act); err != nil {
		return err // and nothing has changed
	}
	power := float64(act.Kinds[0][0])
	// Products are rounded before they are summed, so that every machine gives the same.
	r.warmth += float64(0.5*power) + float64(0.05*(r.weather(r.step)+20-r.warmth))
	r.step++
	r.running = r.step < r.spec.MaxSteps
	off := math.Abs(r.warmth - 20)
	out.Rewards[0][0] = float32(-off - float64(0.1*power))
	out.Info[0], out.Info[1] = off, power/60
	out.Terminated, out.Truncated, out.Elapsed = false, !r.running, r.spec.Step.Fixed
	r.see(obs)
	return nil
}

// State implements [state.Stater]: copies, saved states and fingerprints follow from it.
func (r *Room) State(c *state.Codec) {
	c.Same("number of minutes", uint64(r.spec.MaxSteps))
	state.Value(c, &r.now)
	if c.Loaded() {
		c.Check(r.step >= 0 && r.step <= r.spec.MaxSteps, "minute %d, want 0 to %d", r.step, r.spec.MaxSteps)
		c.Check(r.warmth == r.warmth, "warmth is no number")
	}
}

// CopyFrom implements [envs.Env].
func (r *Room) CopyFrom(src envs.Env) error {
	s, ok := src.(*Room)
	if !ok {
		return fmt.Errorf("%s: cannot be copied from a %T", RoomID, src)
	}
	return state.Copy(r, s)
}

// AppendBinary implements [envs.Env].
func (r *Room) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, RoomID, r) }

// UnmarshalBinary implements [envs.Env].
func (r *Room) UnmarshalBinary(b []byte) error { return state.Load(b, RoomID, r) }
