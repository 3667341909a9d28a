package sizing

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// forms are environments with every form of observation, and a hash of what the agents of each see in an episode of
// random actions. The hashes came from the code before observations were made from meters; that of described next, which is
// newer, from its first version.
var forms = map[string]struct {
	w      workload.Config
	change func(*Config)
	seen   uint64
}{
	"paper":      {DefaultWorkload(), func(c *Config) { c.Features = PaperFeatures }, 0x445bed65fa5dc054},
	"hardware":   {DefaultWorkload(), func(c *Config) { c.Decide, c.Features = Hardware, PaperFeatures }, 0x11acf052aa99413d},
	"extended":   {DefaultWorkload(), func(c *Config) { c.Warmup = 3 }, 0xf93f751a183fa666},
	"cold":       {DefaultWorkload(), func(c *Config) { c.Warmup = 0 }, 0x84685a24b10f758b},
	"users":      {closed(20), func(c *Config) { c.Users = []int{5, 40} }, 0xd7c816434ffbb64a},
	"load known": {DefaultWorkload(), func(c *Config) { c.LoadKnown = true }, 0x2a3cc9b54a78c760},
	"tcktapp":    {poisson(2), func(c *Config) { c.Workflow = TcktApp }, 0x6a92f03bea962bdd},
	"described":  {DefaultWorkload(), func(c *Config) { c.Features = Described }, 0x688a0e0a2751659d},
	"described cold": {DefaultWorkload(), func(c *Config) {
		c.Features, c.Warmup = Described, 0
	}, 0x87fb2b486e6c7edb},
	"described known": {DefaultWorkload(), func(c *Config) {
		c.Features, c.LoadKnown = Described, true
	}, 0xb8e793a6048eedc3},
	"described cold known": {DefaultWorkload(), func(c *Config) {
		c.Features, c.LoadKnown, c.Warmup = Described, true, 0
	}, 0x811ded677af80ae2},
	"described users": {closed(10), func(c *Config) {
		*c = DefaultCounted()
		described(c)
		c.Reward.Dial = []float64{0.5, 8}
	}, 0x4648d47c562a8c6b},
	"described tcktapp": {poisson(2), func(c *Config) {
		c.Features, c.Workflow, c.Reward.Dial = Described, TcktApp, []float64{2}
	}, 0xddb4aedea1f52311},
	"described generated": {poisson(2), func(c *Config) {
		*c = DefaultCounted()
		c.Features, c.Workflow = Described, Generated
	}, 0xeb95680b75b85231},
	"described next": {DefaultWorkload(), func(c *Config) {
		c.Features, c.LoadNext = Described, true
	}, 0x960cf0576308c9b9},
	"side by side": {DefaultWorkload(), func(c *Config) {
		c.Features, c.Workflows = Described, []string{Sequential, Generated, TcktApp, Generated}
		c.Generated.Functions = 12
	}, 0x610340cf3baf4ea1},
}

// formWindows is the length of an episode of each form.
const formWindows = 12

// newForm makes the environment of a form.
func newForm(t testing.TB, name string) envs.Env {
	t.Helper()
	c := Default()
	forms[name].change(&c)
	c.Windows = formWindows
	e := must.Get(Open(c, forms[name].w))(t)
	return e
}

// play runs an episode of random actions, and calls f after each observation.
func play(t testing.TB, e envs.Env, seed uint64, f func(obs *envs.Observation, act *envs.Action)) {
	t.Helper()
	s := e.Spec()
	obs, act, out := envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)
	must.Do(t, e.Reset(seed, nil, obs))
	f(obs, nil)
	r := rng.NewStream(seed, "form actions")
	for !out.Truncated {
		for i := range act.Kinds[0] {
			act.Kinds[0][i] = float32(r.Float64())
			if seed == 1 { // fits the machines more often
				act.Kinds[0][i] /= 2
			}
		}
		must.Do(t, e.Step(act, obs, out))
		f(obs, act)
	}
}

// What agents see in each form is what they saw before there were meters, bit for bit.
func TestForms(t *testing.T) {
	for name, form := range forms {
		e, h := newForm(t, name), fnv.New64a()
		for seed := range uint64(2) {
			play(t, e, seed, func(obs *envs.Observation, _ *envs.Action) {
				for _, x := range obs.Kinds[0].Values {
					h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
				}
			})
		}
		if got := h.Sum64(); got != form.seen {
			t.Errorf("%s: %#x, was %#x", name, got, form.seen)
		}
	}
}
