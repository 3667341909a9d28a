package sac

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
)

// quick learns stable in a second.
func quick() Config {
	c := Default()
	c.Hidden, c.Activation = []int{16}, nets.Tanh
	c.ActorRate, c.CriticRate, c.AlphaRate, c.RateFinal = 2e-3, 5e-3, 5e-3, 0.05
	c.Gamma, c.Tau, c.Batch, c.Replay, c.RandomSteps, c.LearningStarts = 0.9, 0.02, 64, 2_000, 100, 200
	return c
}

// stable is a regulator that does not run away under a policy that knows nothing.
func stable() classic.LQRConfig {
	c := classic.DefaultLQR()
	c.A = 0.8
	return c
}

func newLQR() (envs.Env, error) { return classic.NewLQR(stable()) }

func learn(t testing.TB, c Config, steps int64) *Learner {
	t.Helper()
	_, l := choicetest.Train(t, 1, 2, steps, 1, newLQR,
		func(ctx agents.Context) (agents.Learner, error) { return New(c, ctx) })
	return l.(*Learner)
}

// cost is the mean cost of a policy over episodes that are the same for all policies.
func cost(t *testing.T, p envs.Policy) float64 {
	t.Helper()
	e := must.Get(newLQR())(t)
	r, sum, n := rollout.NewRunner(e), 0.0, uint64(200)
	for seed := range n {
		x := must.Get(r.Episode(rollout.Actor{Policy: p}, 1<<40+seed))(t)
		sum -= x.Return
	}
	return sum / float64(n)
}

// regulator is the control −gain·x.
type regulator struct {
	envs.Policy
	gain float32
}

func (r regulator) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	act.Kinds[0][0] = min(max(-r.gain*obs.Kinds[0].Values[0], -2), 2)
	return nil
}

// A short training comes near the optimum; to do nothing costs 40 % more.
func TestLearnsLQR(t *testing.T) {
	l := learn(t, quick(), 12_000)
	p := must.Get(l.Policy())(t)
	c := stable()
	_, gain := c.Riccati(1)
	best, idle := cost(t, regulator{p, float32(gain)}), cost(t, regulator{p, 0})
	if got := cost(t, p); got > 1.05*best || idle < 1.3*best {
		t.Errorf("an episode costs %.2f, want at most 5 %% more than the optimum, %.2f; doing nothing costs %.2f", got,
			best, idle)
	}
	// The temperature keeps the entropy at its target, −1.
	metrics := map[string]float64{}
	l.Metrics(func(name string, v float64) { metrics[name] = v })
	if h := metrics["train/entropy"]; math.Abs(h+1) > 0.5 {
		t.Errorf("the entropy is %.2f, want about −1", h)
	}
}

// Who cannot be learned is told why, and what would suit.
func TestRefusals(t *testing.T) {
	kind := func(a envs.Space) []envs.Kind {
		return []envs.Kind{{Name: "cart", Agents: 1, Observation: envs.Unbounded(2), Action: a}}
	}
	for want, kinds := range map[string][]envs.Kind{
		"sac: test/X-v1: actions of cart are Discrete(2), want a Box; dqn, ppo and reinforce learn choices": kind(
			envs.Discrete{N: 2}),
		"cart: action component 0 ranges over [-Inf, +Inf], want finite bounds": kind(envs.Unbounded(1)),
		"actions of cart are Box(0), want at least one component":               kind(envs.Box{}),
		"test/X-v1 has 2 kinds of agents, want one":                             make([]envs.Kind, 2),
	} {
		e := native.New(native.Options{Threads: 1})
		_, err := New(Default(), agents.Context{Spec: &envs.Spec{ID: "test/X-v1", Kinds: kinds}, NumEnvs: 1, Train: e, Act: e})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	c := Default()
	c.Batch, c.Replay = 3, 2
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "batch is 3, want at most the 2 transitions") {
		t.Errorf("a batch beyond the replay gives %v", err)
	}
}

// A policy acts the same after it was written and read back; drawn actions follow from the seed; another environment's
// file is refused.
func TestPolicyFile(t *testing.T) {
	l := learn(t, quick(), 600)
	p := must.Get(l.Policy())(t)
	f := must.Get(p.Export())(t)
	e := native.New(native.Options{Threads: 1})
	q := must.Get(actor.Open(f, l.ctx.Spec, e))(t)
	obs, act := envs.NewObservation(l.ctx.Spec), envs.NewAction(l.ctx.Spec)
	obs.Kinds[0].Active[0] = true
	play := func(p agents.Policy, deterministic bool) (out []float32) {
		must.Do(t, p.Reset(3))
		for k := range 20 {
			obs.Kinds[0].Values[0] = float32(k)/10 - 1
			must.Do(t, p.Act(obs, act, deterministic))
			out = append(out, act.Kinds[0][0])
		}
		return out
	}
	for _, deterministic := range []bool{true, false} {
		if a, b := play(p, deterministic), play(q, deterministic); !slices.Equal(a, b) {
			t.Errorf("deterministic %v: the policy read back does %v, want %v", deterministic, b, a)
		}
	}
	if slices.Equal(play(p, true), play(p, false)) {
		t.Error("drawn actions are the deterministic ones")
	}
	if n := testing.AllocsPerRun(100, func() {
		must.Do(t, p.Act(obs, act, false))
	}); n != 0 {
		t.Errorf("an action allocates %g times", n)
	}
	narrow := classic.DefaultLQR()
	narrow.Bound = 1
	other := must.Get(classic.NewLQR(narrow))(t)
	if _, err := actor.Open(f, other.Spec(), e); err == nil || !strings.Contains(err.Error(), "trained for the actions") {
		t.Errorf("other bounds give %v", err)
	}
}

// Who begins with another run's weights has its temperature where it is tuned, else the configured one.
func TestAdoptsTheTemperatureWhereTuned(t *testing.T) {
	from := learn(t, quick(), 600)
	s := agents.NewState()
	must.Do(t, from.Save(s))
	for _, tuned := range []bool{true, false} {
		c := quick()
		c.Autotune, c.Alpha = tuned, 0.05
		l := learn(t, c, 2)
		must.Do(t, l.Adopt(s))
		want := map[bool]float64{true: from.update.alpha(), false: 0.05}[tuned]
		if got := l.update.alpha(); math.Abs(got-want) > 1e-6 {
			t.Errorf("autotune %v: alpha is %g, want %g", tuned, got, want)
		}
	}
}

// Learning allocates nothing per step once all is warm.
func TestNoAllocations(t *testing.T) {
	learner := learn(t, quick(), 600)
	v := must.Get(envs.NewVector(newLQR, envs.VectorOptions{NumEnvs: 2, Seed: 1}))(t)
	must.Do(t, v.Reset())
	if n := testing.AllocsPerRun(20, func() {
		for _, f := range []func() error{
			func() error { return learner.Act(v) }, v.Step, func() error { return learner.Observe(v) }, learner.Update,
		} {
			must.Do(t, f())
		}
	}); n != 0 {
		t.Errorf("a step with its updates allocates %g times", n)
	}
}
