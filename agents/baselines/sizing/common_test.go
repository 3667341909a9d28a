package sizing

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// Parallel under ten users, or under a Poisson stream.
func newEnv(t testing.TB, rate float64, change func(*sizing.Config)) *sizing.Env {
	t.Helper()
	w := workload.Default()
	w.Kind = workload.ClosedLoop
	if rate > 0 {
		w.Kind, w.Rate, w.Length = workload.Poisson, rate, 60
	}
	c := sizing.Default()
	if change != nil {
		change(&c)
	}
	e := must.Get(sizing.New(c, w))(t)
	return e
}

// steps runs an actor and returns the action of every step.
func steps(t testing.TB, e *sizing.Env, a rollout.Actor, seed uint64) [][]float32 {
	t.Helper()
	r := rollout.NewRunner(e)
	var out [][]float32
	r.OnStep = func(s rollout.Step) { out = append(out, append([]float32(nil), s.Action.Kinds[0]...)) }
	must.Get(r.Episode(a, seed))(t)
	return out
}

// Every baseline runs a whole episode of every workflow, twice with the same result, and refuses another environment.
func TestBaselines(t *testing.T) {
	pole := must.Get(classic.NewCartPole(classic.DefaultCartPole()))(t)
	for name, build := range baselines() {
		for _, workflow := range []string{sizing.Sequential, sizing.Parallel, sizing.Branch, sizing.TcktApp} {
			e := newEnv(t, 0.5, func(c *sizing.Config) { c.Workflow, c.Windows = workflow, 3 })
			a := must.Get(build(e))(t)
			if a.Name() != name {
				t.Errorf("%s calls itself %q", name, a.Name())
			}
			first, second := steps(t, e, a, 3), steps(t, e, a, 3)
			for k := range first {
				for i := range first[k] {
					if first[k][i] != second[k][i] {
						t.Fatalf("%s on %s: step %d differs between two episodes of one seed", name, workflow, k)
					}
				}
			}
		}
		if _, err := build(pole); err == nil || !strings.Contains(err.Error(), sizing.ID) {
			t.Errorf("%s for a pole: %v", name, err)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	f, a, r := DefaultFixed(), DefaultAutoscaler(), DefaultRandomSearch()
	bo, nei := DefaultRAMBO(), DefaultAquatope()
	wrongBO, wrongNEI := bo, nei
	wrongBO.Low, wrongNEI.Outliers = 0.8, "some"
	for _, v := range []interface{ Validate() error }{&f, &a, &r, &bo, &nei} {
		if err := v.Validate(); err != nil {
			t.Errorf("default %+v: %v", v, err)
		}
	}
	for want, v := range map[string]interface{ Validate() error }{
		"configuration has 2":                  &FixedConfig{Configuration: []float64{0, 0}},
		"configuration[1] is 1.5":              &FixedConfig{Configuration: []float64{0, 1.5, 0, 0}},
		"cpu is 2":                             &AutoscalerConfig{CPU: 2, Base: middle()},
		"cpu and concurrency":                  &AutoscalerConfig{Base: middle()},
		"base has 0":                           &AutoscalerConfig{CPU: 1},
		"windows is 0":                         &RandomSearchConfig{High: 1},
		"low is 0.5, want less than high, 0.5": &RandomSearchConfig{Windows: 1, Low: 0.5, High: 0.5},
		"low is 0.8, want less than high, 0.8": &wrongBO,
		"outliers is \"some\"":                 &wrongNEI,
		"windows is 0, want 1 to 500":          &AquatopeConfig{},
	} {
		if err := v.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	paper := newEnv(t, 1, func(c *sizing.Config) { c.Features = sizing.PaperFeatures })
	a = DefaultAutoscaler()
	a.CPU = 0
	if _, err := NewAutoscaler(a, paper); err == nil || !strings.Contains(err.Error(), "want extended") {
		t.Errorf("concurrency without its feature: %v", err)
	}
	f.Configuration = []float64{0.1, 0.2, 0.3}
	if _, err := NewFixed(f, paper); err == nil || !strings.Contains(err.Error(), "want 4") {
		t.Errorf("three numbers where four are needed: %v", err)
	}
}

// The autoscaler decides the same whichever features show it the metrics.
func TestAutoscalerReadsDescribedFeatures(t *testing.T) {
	play := func(features string) [][]float32 {
		e := newEnv(t, 1.5, func(c *sizing.Config) { c.Windows, c.Features = 40, features })
		a := must.Get(NewAutoscaler(DefaultAutoscaler(), e))(t)
		return steps(t, e, rollout.Actor{Policy: a}, 2)
	}
	extended, described := play(sizing.ExtendedFeatures), play(sizing.Described)
	for k := range extended {
		if !slices.Equal(extended[k], described[k]) {
			t.Fatalf("window %d: %v with extended features, %v with described ones", k, extended[k], described[k])
		}
	}
	if slices.Equal(extended[0], extended[len(extended)-1]) {
		t.Error("the autoscaler never acted")
	}
}

// Saved and copied policies and tuners continue as the originals do.
func TestSavedBaselines(t *testing.T) {
	e := newEnv(t, 1, func(c *sizing.Config) { c.Windows = 30 })
	s := e.Spec()
	obs, act, out := envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)
	must.Do(t, e.Reset(1, nil, obs))
	scaler, err := NewAutoscaler(DefaultAutoscaler(), e)
	must.Do(t, err)
	search, err := NewRandomSearch(DefaultRandomSearch(), e)
	must.Do(t, err)
	must.Do(t, search.Reset(5))
	for k := range 24 {
		other, err := NewAutoscaler(DefaultAutoscaler(), e)
		must.Do(t, err)
		b, err := scaler.AppendBinary(nil)
		must.Do(t, err)
		must.Do(t, other.UnmarshalBinary(b))
		third, err := NewAutoscaler(DefaultAutoscaler(), e)
		must.Do(t, err)
		must.Do(t, third.CopyFrom(scaler))
		want, got := envs.NewAction(s), envs.NewAction(s)
		must.Do(t, scaler.Act(obs, want, true))
		for _, p := range []*Autoscaler{other, third} {
			must.Do(t, p.Act(obs, got, true))
			same(t, "autoscaler", k, want, got)
		}
		if other.UnmarshalBinary(b[1:]) == nil || other.UnmarshalBinary(append([]byte{7}, b[1:]...)) == nil {
			t.Error("autoscaler: a damaged state was accepted")
		}

		replica, err := NewRandomSearch(DefaultRandomSearch(), e)
		must.Do(t, err)
		if b, err = search.AppendBinary(nil); err != nil {
			t.Fatal(err)
		}
		must.Do(t, replica.UnmarshalBinary(b))
		must.Do(t, search.Propose(obs, act))
		must.Do(t, replica.Propose(obs, got))
		same(t, "random search", k, act, got)
		if replica.UnmarshalBinary(b[:20]) == nil {
			t.Error("random search: a damaged state was accepted")
		}
		must.Do(t, e.Step(act, obs, out))
		must.Do(t, search.Observe(act, out))
	}
}

func same(t *testing.T, who string, step int, want, got *envs.Action) {
	t.Helper()
	for i, x := range want.Kinds[0] {
		if got.Kinds[0][i] != x {
			t.Fatalf("%s, step %d: component %d is %g after restoring, want %g", who, step, i, got.Kinds[0][i], x)
		}
	}
}
