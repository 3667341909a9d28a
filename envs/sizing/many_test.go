package sizing

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// newSides returns Sequential, TcktApp and Branch side by side.
func newSides(t testing.TB, w workload.Config, change func(*Config)) *Many {
	t.Helper()
	c := Default()
	described(&c)
	c.Workflows, c.Windows = []string{Sequential, TcktApp, Branch}, 5
	if change != nil {
		change(&c)
	}
	e := must.Get(Open(c, w))(t)
	return e.(*Many)
}

func TestManyContract(t *testing.T) {
	for name, w := range map[string]workload.Config{"trace": DefaultWorkload(), "users": closed(8)} {
		t.Run(name, func(t *testing.T) {
			envtest.Run(t, func() (envs.Env, error) { return newSides(t, w, nil), nil },
				envtest.Options{Seeds: []uint64{1}, Steps: 16})
		})
	}
}

// Each workflow runs as it does alone under its seed; rewards are its own, and what is reported is the mean.
func TestManyIsEachAlone(t *testing.T) {
	m := newSides(t, DefaultWorkload(), nil)
	spec := m.Spec()
	obs, act, out := envs.NewObservation(spec), envs.NewAction(spec), envs.NewOutcome(spec)
	must.Do(t, m.Reset(9, nil, obs))
	var alone []*rig
	for i, name := range []string{Sequential, TcktApp, Branch} {
		r := newRig(t, DefaultWorkload(), func(c *Config) { described(c); c.Workflow, c.Windows = name, 5 })
		r.reset(SeedOf(9, i))
		alone = append(alone, r)
	}
	s := rng.NewStream(1, "actions")
	for range 5 {
		for i := range act.Kinds[0] {
			act.Kinds[0][i] = float32(s.Float64())
		}
		must.Do(t, m.Step(act, obs, out))
		sum := make([]float64, len(out.Info))
		for i, r := range alone {
			from, to := m.first[i], m.first[i+1]
			copy(r.act.Kinds[0], act.Kinds[0][4*from:4*to])
			r.step()
			w := spec.Kinds[0].Observation.Width()
			if !slices.Equal(r.obs.Kinds[0].Values, obs.Kinds[0].Values[w*from:w*to]) {
				t.Fatalf("workflow %d sees something else than alone", i)
			}
			if !slices.Equal(r.out.Rewards[0], out.Rewards[0][from:to]) {
				t.Errorf("workflow %d: rewards %v, alone %v", i, out.Rewards[0][from:to], r.out.Rewards[0])
			}
			for q, x := range r.out.Info {
				sum[q] += x
			}
		}
		for q, x := range sum {
			near(t, "mean "+spec.Info[q].Name, out.Info[q], x/3, 1e-9*(1+x))
		}
	}
	if !out.Truncated {
		t.Error("the episode has not ended")
	}
	if alone[0].slot == alone[1].slot && alone[1].slot == alone[2].slot {
		t.Error("all workflows have the same part of the trace")
	}
}

// No function has a neighbour in another workflow.
func TestManyNeighbours(t *testing.T) {
	m := newSides(t, DefaultWorkload(), nil)
	k := m.Spec().Kinds[0]
	if k.Agents != 5+12+7 || len(k.Names) != k.Agents || k.Names[5] != "1 tcktapp/get-left-trip-tickets" {
		t.Fatalf("%d agents, names %v", k.Agents, k.Names)
	}
	block := func(f int) int { return slices.IndexFunc(m.First(), func(n int) bool { return n > f }) }
	edges := 0
	for _, lists := range [][][]int{k.Neighbours, k.Next} {
		if len(lists) != k.Agents {
			t.Fatalf("%d lists for %d agents", len(lists), k.Agents)
		}
		for f, l := range lists {
			for _, g := range l {
				edges++
				if block(f) != block(g) {
					t.Errorf("%s leads to %s", k.Names[f], k.Names[g])
				}
			}
		}
	}
	if edges == 0 {
		t.Error("no function has a neighbour")
	}
}

func TestManyErrors(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"features is extended, want described": func(c *Config) { c.Features, c.Reward.Dial = ExtendedFeatures, nil },
		"workflows[1] is":                      func(c *Config) { c.Workflows[1] = "line" },
		"workflows[2] (own): graph is empty":   func(c *Config) { c.Workflows[2] = Own },
		"laws has 1":                           func(c *Config) { own(c); c.Graph.Nodes = nil },
		"graph is given":                       func(c *Config) { own(c); c.Laws = nil },
		"workflows[0] (sequential): initial":   func(c *Config) { c.Initial = []float64{0.5, 0.5, 0.5} },
	} {
		c := Default()
		described(&c)
		c.Workflows = []string{Sequential, TcktApp, Branch}
		change(&c)
		if _, err := Open(c, DefaultWorkload()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	c := Default()
	described(&c)
	c.Workflows = []string{Sequential}
	if _, err := New(c, DefaultWorkload()); err == nil || !strings.Contains(err.Error(), "want [] for one workflow") {
		t.Errorf("New with a list of workflows: %v", err)
	}
}

// Of several generated workflows each has a seed of its own.
func TestManyGenerated(t *testing.T) {
	m := newSides(t, poisson(0.2), func(c *Config) {
		c.Workflows, c.Generated.Functions = []string{Generated, Parallel, Generated}, 8
	})
	a, b := m.Workflows()[0], m.Workflows()[2]
	if a.cfg.Generated.Seed+1 != b.cfg.Generated.Seed || slices.Equal(a.observer.described.fixed, b.observer.described.fixed) {
		t.Errorf("seeds are %d and %d", a.cfg.Generated.Seed, b.cfg.Generated.Seed)
	}
	obs := envs.NewObservation(m.Spec())
	must.Do(t, m.Reset(1, nil, obs))
}

// generated_slack sets the thresholds of generated workflows: one for each of a list, one for all, or 2.6.
func TestManySlack(t *testing.T) {
	latencies := func(slack []float64, workflows ...string) ([]float64, error) {
		c := DefaultCounted()
		described(&c)
		c.Workflows, c.Windows, c.Slack = workflows, 2, slack
		e, err := OpenCounted(c, DefaultWorkload())
		if err != nil {
			return nil, err
		}
		m := e.(*Many)
		must.Do(t, m.Reset(1, nil, envs.NewObservation(m.Spec())))
		var out []float64
		for _, w := range m.Workflows() {
			out = append(out, w.QoS().Latency)
		}
		return out, nil
	}
	usual := must.Get(latencies(nil, Generated, Parallel, Generated))(t)
	for _, k := range []struct{ slack, times []float64 }{
		{[]float64{5.2}, []float64{2, 1, 2}},
		{[]float64{2.6, 1.3}, []float64{1, 1, 0.5}},
	} {
		for i, got := range must.Get(latencies(k.slack, Generated, Parallel, Generated))(t) {
			near(t, "threshold", got, usual[i]*k.times[i], 0.2) // both are rounded up to 0.1 s
		}
	}
	_, err := latencies([]float64{1, 2, 3}, Generated, Parallel, Generated)
	if err == nil || !strings.HasPrefix(err.Error(), "generated_slack is [1 2 3], want one number, or one for each") {
		t.Errorf("three for two workflows: %v", err)
	}
}

// generated_services says which generated workflows are of services: each alone, all, or none. Their functions are as TcktApp's.
func TestManyServices(t *testing.T) {
	queued := func(services ...bool) ([]bool, error) {
		c := DefaultCounted()
		described(&c)
		c.Workflows, c.Windows, c.Services = []string{Generated, Parallel, Generated}, 2, services
		e, err := OpenCounted(c, DefaultWorkload())
		if err != nil {
			return nil, err
		}
		var out []bool
		for _, w := range e.(*Many).Workflows() {
			a := w.app
			out = append(out, a.queued)
			if a.queued != (a.rng.High == ticketRange.High) {
				t.Errorf("services %v: a workflow that queues, %v, has the range %+v", services, a.queued, a.rng)
			}
		}
		return out, nil
	}
	for _, k := range []struct{ services, want []bool }{
		{nil, []bool{false, false, false}}, {[]bool{true}, []bool{true, false, true}}, {[]bool{false, true}, []bool{false, false, true}},
	} {
		if got := must.Get(queued(k.services...))(t); !slices.Equal(got, k.want) {
			t.Errorf("services %v: %v wait, want %v", k.services, got, k.want)
		}
	}
	_, err := queued(true, false, true)
	if err == nil || !strings.HasPrefix(err.Error(), "generated_services is [true false true], want one value, or one for each") {
		t.Errorf("three for two workflows: %v", err)
	}
}

// Generated workflows side by side have the seeds and the sizes that the list says, and where the price is meant for six
// functions a workflow of n weighs it by 6/n.
func TestManySizes(t *testing.T) {
	build := func(sizes []int) (*Many, error) {
		c := DefaultCounted()
		described(&c)
		c.Workflows, c.Windows, c.Generated.Seed, c.Sizes = []string{Generated, Parallel, Generated}, 2, 7, sizes
		c.Reward = Reward{Form: PaperReward, Price: 0.1, QoS: 2, PerFunctions: 6, NearMiss: NearMiss{Power: 4}}
		e, err := OpenCounted(c, DefaultWorkload())
		if err != nil {
			return nil, err
		}
		return e.(*Many), nil
	}
	if _, err := build([]int{5}); err == nil || !strings.HasPrefix(err.Error(), "generated_sizes is [5], want a number for "+
		"each generated workflow of workflows, 2") {
		t.Errorf("one size for two workflows: %v", err)
	}
	m := must.Get(build([]int{5, 12}))(t)
	spec := m.Spec()
	obs, act, out := envs.NewObservation(spec), envs.NewAction(spec), envs.NewOutcome(spec)
	must.Do(t, m.Reset(1, nil, obs))
	for i := range act.Kinds[0] {
		act.Kinds[0][i] = 0 // no threshold is kept
	}
	must.Do(t, m.Step(act, obs, out))
	for i, want := range []int{5, 6, 12} {
		e := m.Workflows()[i]
		if n := e.Spec().Kinds[0].Agents; n != want {
			t.Errorf("workflow %d has %d functions, want %d", i, n, want)
		}
		if !e.result.violated || e.result.price == 0 {
			t.Fatalf("workflow %d: %+v", i, e.result)
		}
		near(t, "reward", float64(out.Rewards[0][m.first[i]]), -0.1*e.result.price*6/float64(want), 1e-7)
	}
	if a, b := m.Workflows()[0].Config().Generated.Seed, m.Workflows()[2].Config().Generated.Seed; a != 7 || b != 8 {
		t.Errorf("seeds %d and %d, want 7 and 8", a, b)
	}
}
