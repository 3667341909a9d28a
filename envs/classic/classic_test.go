package classic

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

var update = flag.Bool("update", false, "record golden traces anew")

// problems are all environments here, in the forms in which they are used.
var problems = []struct {
	name  string
	build envtest.Build
}{
	{"cartpole", func() (envs.Env, error) { return NewCartPole(DefaultCartPole()) }},
	{"pendulum", func() (envs.Env, error) { return NewPendulum(DefaultPendulum()) }},
	{"spread", func() (envs.Env, error) { return NewSpread(DefaultSpread()) }},
	{"spread-pettingzoo", func() (envs.Env, error) {
		c := DefaultSpread()
		c.Physics, c.Reward, c.Agents = Current, PettingZoo, 5
		return NewSpread(c)
	}},
	{"lqr", func() (envs.Env, error) { return NewLQR(DefaultLQR()) }},
	{"bandit", func() (envs.Env, error) { return NewBandit(DefaultBandit()) }},
}

func TestContract(t *testing.T) {
	for _, p := range problems {
		t.Run(p.name, func(t *testing.T) { envtest.Run(t, p.build, envtest.Options{}) })
	}
}

func TestGoldenTraces(t *testing.T) {
	for _, p := range problems {
		t.Run(p.name, func(t *testing.T) {
			envtest.Golden(t, filepath.Join("testdata", p.name+".golden"), *update, p.build)
		})
	}
}

func TestConfigurationsAreChecked(t *testing.T) {
	spread, lqr := DefaultSpread(), DefaultLQR()
	bad := []struct {
		name string
		err  error
		want string
	}{
		{"cartpole without steps", (&CartPoleConfig{}).Validate(), "max_steps is 0, want 1 to 2147483647"},
		{"pendulum without steps", (&PendulumConfig{}).Validate(), "max_steps is 0, want 1 to 2147483647"},
		{"spread's physics", func() error { c := spread; c.Physics = "modern"; return c.Validate() }(),
			`physics is "modern", want one of legacy, current`},
		{"spread's reward", func() error { c := spread; c.Reward = ""; return c.Validate() }(),
			`reward is "", want one of openai, pettingzoo`},
		{"spread without agents", func() error { c := spread; c.Agents = 0; return c.Validate() }(),
			"agents is 0, want 1 to 10000"},
		{"spread's ratio", func() error { c := spread; c.LocalRatio = 2; return c.Validate() }(),
			"local_ratio is 2, want 0 to 1"},
		{"lqr without control", func() error { c := lqr; c.B = 0; return c.Validate() }(),
			"b is 0, want a system that can be controlled"},
		{"lqr's cost", func() error { c := lqr; c.R = 0; return c.Validate() }(), "r is 0, want 1e-09 to 1000000"},
		{"one arm", (&BanditConfig{Means: []float64{1}}).Validate(), "means has 1 arms, want at least 2"},
	}
	for _, b := range bad {
		if b.err == nil || b.err.Error() != b.want {
			t.Errorf("%s: error is %v, want %s", b.name, b.err, b.want)
		}
	}
}

// player steps an environment, to measure and to compare.
type player struct {
	env envs.Env
	obs *envs.Observation
	act *envs.Action
	out *envs.Outcome
}

func newPlayer(t testing.TB, env envs.Env, err error) *player {
	t.Helper()
	must.Do(t, err)
	s := env.Spec()
	return &player{env, envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)}
}

// episode plays from a seed to the end and returns the mean agent's return and the number of steps. choose writes
// p.act.
func (p *player) episode(t testing.TB, seed uint64, choose func()) (ret float64, steps int) {
	t.Helper()
	must.Do(t, p.env.Reset(seed, nil, p.obs))
	for {
		choose()
		must.Do(t, p.env.Step(p.act, p.obs, p.out))
		steps++
		for _, r := range p.out.Rewards[0] {
			ret += float64(r) / float64(len(p.out.Rewards[0]))
		}
		if p.out.Terminated || p.out.Truncated {
			return ret, steps
		}
	}
}

func BenchmarkStep(b *testing.B) {
	for _, p := range problems {
		b.Run(p.name, func(b *testing.B) {
			env, err := p.build()
			q := newPlayer(b, env, err)
			choices := envs.Choices(env.Spec().Kinds[0].Action)[0]
			s := rng.NewStream(1, "bench")
			// Actions drawn beforehand, so that drawing them is not measured.
			drawn := make([]float32, 1<<10)
			for i := range drawn {
				if choices > 0 {
					drawn[i] = float32(s.IntN(choices))
				}
			}
			seed, at := uint64(0), 0
			must.Do(b, env.Reset(seed, nil, q.obs))
			b.ReportAllocs()
			for b.Loop() {
				for i := range q.act.Kinds[0] {
					q.act.Kinds[0][i] = drawn[at&(1<<10-1)]
					at++
				}
				must.Do(b, env.Step(q.act, q.obs, q.out))
				if q.out.Terminated || q.out.Truncated {
					seed++
					must.Do(b, env.Reset(seed, nil, q.obs))
				}
			}
		})
	}
}
