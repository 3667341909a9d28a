package sizing

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// played is an environment at the beginning of an episode, with what a step needs.
type played struct {
	*sizing.Env
	obs *envs.Observation
	act *envs.Action
	out *envs.Outcome
}

func play(t testing.TB, e *sizing.Env, seed uint64) *played {
	t.Helper()
	s := e.Spec()
	p := &played{e, envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)}
	must.Do(t, e.Reset(seed, nil, p.obs))
	return p
}

func oracle(t testing.TB, e *sizing.Env, change func(*OracleConfig)) *Oracle {
	t.Helper()
	p := must.Get(NewOracle(*oracleWith(change), e))(t)
	return p
}

func oracleWith(change func(*OracleConfig)) *OracleConfig {
	c := DefaultOracle()
	change(&c)
	return &c
}

func TestPlannerConfigErrors(t *testing.T) {
	f := DefaultForecast()
	for _, v := range []interface{ Validate() error }{oracleWith(func(*OracleConfig) {}), &f} {
		if err := v.Validate(); err != nil {
			t.Errorf("default %+v: %v", v, err)
		}
	}
	for want, v := range map[string]interface{ Validate() error }{
		"horizon is 0":              &OracleConfig{},
		"samples is 2, want 1":      oracleWith(func(c *OracleConfig) { c.Samples = 2 }),
		"violations is 0.1, want 0": oracleWith(func(c *OracleConfig) { c.Noise, c.Violations = SampledNoise, 0.1 }),
		"noise is \"some\"":         oracleWith(func(c *OracleConfig) { c.Noise = "some" }),
		"weight is 0":               &ForecastConfig{PlanConfig: PlanConfig{Horizon: 1}},
		"rates is \"some\"":         forecastWith(func(c *ForecastConfig) { c.Rates = "some" }),
	} {
		if err := v.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

func forecastWith(change func(*ForecastConfig)) *ForecastConfig {
	c := DefaultForecast()
	change(&c)
	return &c
}

// A window comes out as planned: the oracle's copy and the environment agree in every number, and planning changes
// nothing in the environment.
func TestOracleSeesWhatComes(t *testing.T) {
	for name, rate := range map[string]float64{"users": 0, "arrivals": 1} {
		e := play(t, newEnv(t, rate, func(c *sizing.Config) { c.Windows = 6 }), 1)
		p := oracle(t, e.Env, func(c *OracleConfig) { c.Budget = 300 })
		for range 6 {
			before := must.Get(e.AppendBinary(nil))(t)
			must.Do(t, p.Plan(e.Env, e.obs, e.act))
			after := must.Get(e.AppendBinary(nil))(t)
			if !bytes.Equal(before, after) {
				t.Fatalf("%s: planning changed the environment", name)
			}
			must.Do(t, p.step(p.states[0][0], p.plan[0]))
			must.Do(t, e.Step(e.act, e.obs, e.out))
			for i, q := range p.spec.Info {
				if p.out.Info[i] != e.out.Info[i] {
					t.Errorf("%s: %s is %g, planned %g", name, q.Name, e.out.Info[i], p.out.Info[i])
				}
			}
			var w window
			p.add(&w)
			if missed := e.out.Info[p.info.violated] > 0; (p.loss(&w) > 0) != missed {
				t.Errorf("%s: the loss is %g where missed is %t: %+v", name, p.loss(&w), missed, w)
			}
		}
	}
}

// weighted is what an oracle minimises, over an episode: USD/h and a weight for each missed window.
func weighted(t testing.TB, e *sizing.Env, weight float64, a rollout.Actor, seed uint64) float64 {
	t.Helper()
	var sum float64
	r := rollout.NewRunner(e)
	r.OnStep = func(s rollout.Step) { sum += s.Info[0] + weight*s.Info[2] }
	must.Get(r.Episode(a, seed))(t)
	return sum
}

// On a workflow of one function the oracle that may use the configurations of a coarse grid alone finds the best of all
// their sequences, as trying all of them does. With all configurations it is no worse.
func TestOracleAgainstAllTrajectories(t *testing.T) {
	const windows, weight = 3, 20
	c, w := sizing.Default(), workload.Default()
	c.Workflow, c.Windows = sizing.Own, windows
	c.Graph = workflow.Graph{Name: "one", Nodes: []workflow.Node{{Name: "resnet"}}}
	c.QoS.QoS = sizing.QoS{Latency: 6, Success: 0.9}
	w.Kind, w.Rate, w.Length = workload.Poisson, 1.2, 10
	e := must.Get(sizing.New(c, w))(t)
	var grid []sizing.Resources
	for _, cpu := range []int{500, 1250, 2000} {
		for _, replicas := range []int{1, 3, 5, 8} {
			grid = append(grid, sizing.Resources{CPU: cpu, Memory: 2048, Replicas: replicas, Concurrency: 3})
		}
	}
	for seed := range uint64(2) {
		start := play(t, e, seed)
		free := oracle(t, e, func(c *OracleConfig) { c.Weight, c.Credit = weight, 0 })
		bound := oracle(t, e, func(c *OracleConfig) { c.Weight, c.Credit, c.Sweeps = weight, 0, 0 })
		bound.menu = bound.menu[:0]
		for _, r := range grid {
			bound.menu = append(bound.menu, remembered{e.Hourly([]sizing.Resources{r}), []sizing.Resources{r}})
		}
		best := everyTrajectory(t, free, start.Env, grid, weight)
		onGrid := weighted(t, e, weight, rollout.Actor{Planner: bound}, seed)
		got := weighted(t, e, weight, rollout.Actor{Planner: free}, seed)
		t.Logf("seed %d: best on the grid %.3f, oracle on it %.3f, oracle %.3f", seed, best, onGrid, got)
		if math.Abs(onGrid-best) > 1e-9 || got > best+1e-9 {
			t.Errorf("seed %d: the best on the grid costs %g, the oracle's there %g, without it %g", seed, best, onGrid, got)
		}
	}
}

// everyTrajectory returns the least cost of the episode that begins in e, over all sequences of the grid's
// configurations.
func everyTrajectory(t testing.TB, p *Oracle, e *sizing.Env, grid []sizing.Resources, weight float64) float64 {
	t.Helper()
	next := must.Get(e.NewEnv())(t)
	best := math.Inf(1)
	for _, r := range grid {
		must.Do(t, next.CopyFrom(e))
		must.Do(t, p.step(next, []sizing.Resources{r}))
		cost := p.out.Info[0] + weight*p.out.Info[p.info.violated]
		if !p.out.Truncated {
			cost += everyTrajectory(t, p, next, grid, weight)
		}
		best = min(best, cost)
	}
	return best
}

// No rule does better than the oracle in what it minimises, under the same seeds.
func TestOracleBeatsRules(t *testing.T) {
	all := baselines()
	for _, workflow := range []string{sizing.Parallel, sizing.Branch} {
		e := newEnv(t, 0.8, func(c *sizing.Config) { c.Workflow, c.Windows = workflow, 5 })
		for seed := range uint64(2) {
			p := oracle(t, e, func(*OracleConfig) {})
			got := weighted(t, e, 20, rollout.Actor{Planner: p}, seed)
			costs := map[string]float64{}
			for _, name := range []string{"fixed", "autoscaler", "random-search"} {
				a := must.Get(all[name](e))(t)
				costs[name] = weighted(t, e, 20, a, seed)
			}
			for name, x := range costs {
				if got > x {
					t.Errorf("%s, seed %d: the oracle costs %g, %s %g", workflow, seed, got, name, x)
				}
			}
		}
	}
}

// With a share of violations the oracle misses no more windows than it may, and takes no larger weight than where it may
// miss none.
func TestOracleViolations(t *testing.T) {
	e := newEnv(t, 0.8, func(c *sizing.Config) { c.Windows = 4 })
	weight := map[float64]float64{}
	for _, share := range []float64{0.001, 0.5} {
		p := oracle(t, e, func(c *OracleConfig) { c.Violations, c.Credit, c.Budget = share, 0, 150 })
		missed := 0.0
		r := rollout.NewRunner(e)
		r.OnStep = func(s rollout.Step) { missed += s.Info[2] }
		must.Get(r.Episode(rollout.Actor{Planner: p}, 3))(t)
		if allowed := math.Ceil(share * 4); missed > allowed {
			t.Errorf("misses %g of 4 windows, may miss %g", missed, allowed)
		}
		weight[share] = p.weight
	}
	if weight[0.5] > weight[0.001] {
		t.Errorf("a window is worth %g where half may be missed, %g where none", weight[0.5], weight[0.001])
	}
}

// The forecast does not know the arrivals: it decides the same where other requests will come under the same load. The
// oracle does not.
func TestForecastDoesNotSeeArrivals(t *testing.T) {
	e := play(t, newEnv(t, 0.6, func(c *sizing.Config) { c.Windows = 8 }), 2)
	other := play(t, newEnv(t, 0.6, func(c *sizing.Config) { c.Windows = 8 }), 2)
	other.Resample(1)
	c := DefaultForecast()
	c.Budget, c.Samples = 300, 2
	differs := map[string]bool{}
	for _, name := range []string{"forecast", "oracle"} {
		var first []float32
		for _, world := range []*played{e, other} {
			p := oracle(t, e.Env, func(*OracleConfig) {})
			if name == "forecast" {
				var err error
				if p, err = NewForecast(c, e.Env); err != nil {
					t.Fatal(err)
				}
			}
			must.Do(t, p.Plan(world.Env, world.obs, world.act))
			if first == nil {
				first = append(first, world.act.Kinds[0]...)
				continue
			}
			for i, x := range world.act.Kinds[0] {
				differs[name] = differs[name] || x != first[i]
			}
		}
	}
	if differs["forecast"] || !differs["oracle"] {
		t.Errorf("decisions differ where other requests will come: %v, want the oracle's alone", differs)
	}
}

func BenchmarkOracle(b *testing.B) {
	e := play(b, newEnv(b, 1, nil), 1)
	p := oracle(b, e.Env, func(*OracleConfig) {})
	b.ReportAllocs()
	trials := 0
	for b.Loop() {
		must.Do(b, p.Plan(e.Env, e.obs, e.act))
		trials += p.Trials()
	}
	b.ReportMetric(float64(trials)/float64(b.N), "windows/op")
}

// With rates from history the forecast decides the same whatever the coming minutes have; with known rates it does not.
func TestForecastDoesNotSeeRates(t *testing.T) {
	load := func(coming int) workload.Config {
		head, row := "HashOwner,HashApp,HashFunction,Trigger", "o,a,f,http"
		for m := range 60 {
			n := 40
			if m >= 40 {
				n = coming
			}
			head, row = fmt.Sprintf("%s,%d", head, m+1), fmt.Sprintf("%s,%d", row, n)
		}
		dir := t.TempDir()
		must.Do(t, os.WriteFile(filepath.Join(dir, "invocations_per_function_md.anon.d01.csv"), []byte(head+"\n"+row+"\n"), 0o600))
		w := workload.Default()
		w.Path, w.Split, w.TrainFraction = dir, "test", 0.5
		return w
	}
	c := sizing.Default()
	c.Windows, c.Start = 3, 9 // minute 10 of the evaluated part is the first that differs
	for _, rates := range []string{HistoryRates, KnownRates} {
		var first []float32
		for _, coming := range []int{40, 400} {
			e := must.Get(sizing.New(c, load(coming)))(t)
			config := DefaultForecast()
			config.Budget, config.Samples, config.Rates = 150, 2, rates
			p := must.Get(NewForecast(config, e))(t)
			all := steps(t, e, rollout.Actor{Planner: p}, 1)
			got := append(all[0], all[1]...) // the second decision is made as minute 10 begins
			if first == nil {
				first = got
				continue
			}
			if same := slices.Equal(first, got); same != (rates == HistoryRates) {
				t.Errorf("rates %s: the decisions are the same: %v", rates, same)
			}
		}
	}
}
