// Package choices has three small environments for those who write their own: one choice ([Replicas]), choices with a
// mask ([Limited]), and two kinds of agents that see and do different things ([Shop]). docs/environments.md quotes them.
package choices

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// Kinds of agents of [Shop], as indices into every list by kind.
const (
	Seller = iota // sets the price
	Zones         // each chooses how many instances it runs
)

// ZoneCount is the number of zones.
const ZoneCount = 3

// Shop has two kinds of agents. A seller sets a price each hour, a number; the dearer, the fewer requests come to every
// zone. Each zone chooses how many instances it runs, 0 to [Most], and sees its own demand only. Every second hour the
// last zone is closed: its agent is not active.
type Shop struct {
	spec  envs.Spec
	hours hours
}

type hours struct {
	seed    uint64
	hour    int
	price   float32
	running bool
}

// NewShop returns the environment.
func NewShop() (envs.Env, error) {
	return &Shop{spec: envs.Spec{
		ID: "example/Shop-v1", Doc: "Each hour a seller sets the price and the zones choose their instances.",
		Kinds: []envs.Kind{
			{
				Name: "seller", Agents: 1,
				Observation: envs.NewBox(2, 0, 100), Features: []string{"hour", "price"}, FeatureUnits: []string{"h", "USD"},
				Action: envs.NewBox(1, 0, 2), Actions: []string{"price"}, ActionUnits: []string{"USD"},
			},
			{
				Name: "zone", Agents: ZoneCount,
				Observation: envs.NewBox(1, 0, 100), Features: []string{"demand"}, FeatureUnits: []string{"requests"},
				Action: envs.Discrete{N: Most + 1}, Actions: []string{"instances"}, ActionUnits: []string{"instances"},
			},
		},
		Step: envs.Timing{Unit: "hour", Fixed: 3600e6}, MaxSteps: 24,
		Info: []envs.Quantity{{Name: "served", Unit: "requests", Better: envs.Higher, Reduce: envs.Sum}},
	}}, nil
}

// Spec implements [envs.Env].
func (s *Shop) Spec() *envs.Spec { return &s.spec }

// demand of a zone under the price.
func (s *Shop) demand(zone int) float32 {
	most := 1 + rng.New(s.hours.seed, "demand").With(uint64(s.hours.hour)).With(uint64(zone)).IntN(2*Most)
	return float32(most) / (1 + s.hours.price)
}

func (s *Shop) open(kind, agent int) bool {
	return kind == Seller || agent < ZoneCount-1 || s.hours.hour%2 == 0
}

// Reset implements [envs.Env].
func (s *Shop) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if len(options) > 0 {
		return fmt.Errorf("%s: it has no options", s.spec.ID)
	}
	s.hours = hours{seed: seed, price: 1, running: true}
	s.see(obs)
	return nil
}

// see writes what each kind sees. Rows of agents that are not active are zero.
func (s *Shop) see(obs *envs.Observation) {
	seller, zones := &obs.Kinds[Seller], &obs.Kinds[Zones]
	seller.Active[0] = true
	seller.Values[0], seller.Values[1] = float32(s.hours.hour), s.hours.price
	for z := range ZoneCount {
		zones.Active[z], zones.Values[z] = s.open(Zones, z), 0
		if zones.Active[z] {
			zones.Values[z] = s.demand(z)
		}
	}
}

// Step implements [envs.Env].
func (s *Shop) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if !s.hours.running {
		return errors.New(s.spec.ID + ": step outside an episode, want Reset")
	}
	if err := envs.CheckAction(&s.spec, s.open, act); err != nil {
		return err
	}
	s.hours.price = act.Kinds[Seller][0]
	out.Rewards[Seller][0], out.Info[0] = 0, 0
	for z := range ZoneCount {
		out.Rewards[Zones][z] = 0
		if !s.open(Zones, z) {
			continue
		}
		instances := act.Kinds[Zones][z]
		served := min(s.demand(z), instances)
		out.Rewards[Seller][0] += float32(s.hours.price * served)
		out.Rewards[Zones][z] = served - float32(0.3*instances)
		out.Info[0] += float64(served)
	}
	s.hours.hour++
	s.hours.running = s.hours.hour < s.spec.MaxSteps
	out.Terminated, out.Truncated, out.Elapsed = false, !s.hours.running, s.spec.Step.Fixed
	s.see(obs)
	return nil
}

// State implements [state.Stater].
func (s *Shop) State(c *state.Codec) {
	state.Value(c, &s.hours)
	if c.Loaded() {
		c.Check(s.hours.hour >= 0 && s.hours.hour <= s.spec.MaxSteps, "hour %d, want 0 to %d", s.hours.hour, s.spec.MaxSteps)
		c.Check(s.hours.price >= 0 && s.hours.price <= 2, "price %g, want 0 to 2", s.hours.price)
	}
}

// CopyFrom implements [envs.Env].
func (s *Shop) CopyFrom(src envs.Env) error { return envs.CopyState(s, src) }

// AppendBinary implements [envs.Env].
func (s *Shop) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, s.spec.ID, s) }

// UnmarshalBinary implements [envs.Env].
func (s *Shop) UnmarshalBinary(b []byte) error { return state.Load(b, s.spec.ID, s) }
