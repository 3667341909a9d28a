package agents_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/maddpg"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// room is an environment of one's own: a room that loses heat to the weather, and a heater that is to keep it at 20 °C.
type room struct {
	spec    envs.Spec
	seed    uint64
	step    int
	running bool
	warmth  float64 // °C
}

const minutes = 60

func newRoom() (envs.Env, error) {
	r := &room{spec: envs.Spec{
		ID: "example/Room-v1", Doc: "Each minute a heater chooses its power, to keep a room at 20 °C.",
		Kinds: []envs.Kind{{
			Name: "heater", Agents: 1, Observation: envs.Unbounded(2), Action: envs.NewBox(1, 0, 3),
			Features: []string{"inside", "outside"}, FeatureUnits: []string{"°C from 20", "°C from 20"},
			Actions: []string{"power"}, ActionUnits: []string{"kW"},
		}},
		Step: envs.Timing{Unit: "minute", Fixed: 60e6}, MaxSteps: minutes,
		Info: []envs.Quantity{
			{Name: "off", Unit: "°C", Better: envs.Lower, Reduce: envs.Mean, Doc: "how far the room is from 20 °C"},
			{Name: "energy", Unit: "kWh", Better: envs.Lower, Reduce: envs.Sum, Doc: "what the heater used"},
		},
	}}
	return r, nil
}

func (r *room) Spec() *envs.Spec { return &r.spec }

// weather is the world's only draw, keyed by the minute: every policy meets the same.
func (r *room) weather(minute int) float64 {
	return 2*rng.New(r.seed, "weather").With(uint64(minute)).Norm() - 15
}

func (r *room) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if len(options) > 0 {
		return fmt.Errorf("%s: it has no options", r.spec.ID)
	}
	r.seed, r.step, r.running = seed, 0, true
	r.warmth = 14 + float64(4*rng.New(seed, "start").Float64())
	r.see(obs)
	return nil
}

func (r *room) see(obs *envs.Observation) {
	k := &obs.Kinds[0]
	k.Values[0], k.Values[1], k.Active[0] = float32(r.warmth-20), float32(r.weather(r.step)), true
}

func (r *room) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if !r.running {
		return errors.New("example/Room-v1: step outside an episode, want Reset")
	}
	if err := envs.CheckAction(&r.spec, nil, act); err != nil {
		return err // and nothing has changed
	}
	power := float64(act.Kinds[0][0])
	// Products are rounded before they are summed, so that every machine gives the same.
	r.warmth += float64(0.5*power) + float64(0.05*(r.weather(r.step)+20-r.warmth))
	r.step++
	r.running = r.step < minutes
	off := math.Abs(r.warmth - 20)
	out.Rewards[0][0] = float32(-off - float64(0.1*power))
	out.Info[0], out.Info[1] = off, power/60
	out.Terminated, out.Truncated, out.Elapsed = false, !r.running, r.spec.Step.Fixed
	r.see(obs)
	return nil
}

func (r *room) CopyFrom(src envs.Env) error {
	s, ok := src.(*room)
	if !ok {
		return fmt.Errorf("%s: copy from a %T", r.spec.ID, src)
	}
	r.seed, r.step, r.running, r.warmth = s.seed, s.step, s.running, s.warmth
	return nil
}

func (r *room) AppendBinary(b []byte) ([]byte, error) {
	running := uint64(0)
	if r.running {
		running = 1
	}
	for _, x := range []uint64{r.seed, uint64(r.step), running, math.Float64bits(r.warmth)} {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b, nil
}

func (r *room) UnmarshalBinary(b []byte) error {
	if len(b) != 32 {
		return fmt.Errorf("%s: saved state has %d bytes, want 32", r.spec.ID, len(b))
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	if word(1) > minutes || word(2) > 1 {
		return fmt.Errorf("%s: saved state has step %d, running %d", r.spec.ID, word(1), word(2))
	}
	r.seed, r.step, r.running, r.warmth = word(0), int(word(1)), word(2) == 1, math.Float64frombits(word(3))
	return nil
}

// Train a policy in an environment of one's own, and evaluate it beside a rule.
func Example() {
	if err := trainInRoom(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// problems: 0
	// the policy keeps the room closer to 20 °C than full power below 20: true
}

func trainInRoom() error {
	fmt.Println("problems:", len(envtest.Check(newRoom, envtest.Options{})))

	v, err := envs.NewVector(newRoom, envs.VectorOptions{Copies: 4, Seed: 1})
	if err != nil {
		return err
	}
	defer v.Close()
	const steps = 4_000
	c := maddpg.Default()
	c.Mix, c.Hidden, c.Gamma, c.ActorRate, c.CriticRate = maddpg.Single, []int{16, 16}, 0.9, 1e-3, 3e-3
	c.LearningStarts, c.UpdateEvery, c.Noise, c.NoiseFinal = 400, 2, 0.2, 0.05
	cpu := native.New(native.Options{})
	l, err := maddpg.New(c, agents.Context{Spec: v.Spec(), Copies: v.Copies(), Train: cpu, Act: cpu, Seed: 1,
		Steps: steps})
	if err != nil {
		return err
	}
	if err := v.Reset(); err != nil {
		return err
	}
	for range steps / v.Copies() {
		for _, phase := range []func() error{
			func() error { return l.Act(v) }, v.Step, func() error { return l.Observe(v) }, l.Update,
		} {
			if err := phase(); err != nil {
				return err
			}
		}
	}
	trained, err := l.Policy()
	if err != nil {
		return err
	}
	learned, err := meanOff(trained)
	if err != nil {
		return err
	}
	rule, err := meanOff(thermostat{trained})
	if err != nil {
		return err
	}
	fmt.Println("the policy keeps the room closer to 20 °C than full power below 20:", learned < rule)
	return nil
}

// thermostat heats with all its power below 20 °C; all else that a policy has is the trained one's.
type thermostat struct{ envs.Policy }

func (thermostat) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	act.Kinds[0][0] = 0
	if obs.Kinds[0].Values[0] < 0 {
		act.Kinds[0][0] = 3
	}
	return nil
}

// meanOff plays twenty episodes that training didn't see.
func meanOff(p envs.Policy) (mean float64, err error) {
	env, err := newRoom()
	if err != nil {
		return 0, err
	}
	run := rollout.NewRunner(env)
	for seed := range uint64(20) {
		e, err := run.Episode(rollout.Actor{Policy: p}, 1_000_000+seed)
		if err != nil {
			return 0, err
		}
		mean += e.Info[0] / 20
	}
	return mean, nil
}
