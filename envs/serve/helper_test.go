package serve_test

import (
	"testing"

	"github.com/stoker-rl/stoker/envs/serve"
	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// servers is a pool of a function's instances, each of which runs one task at a time; sim.NoLimit is as many as needed.
func servers(name string, n int32) sim.Function {
	f := sim.Function{
		Name: name, Queue: sim.NoLimit, Warm: true, Sizing: sim.Sizing{Concurrency: 1, Speed: 1, Min: n, Max: n},
	}
	if n == sim.NoLimit {
		f.BindCold, f.Sizing.Min, f.Warm = true, 0, false
	}
	return f
}

// pools gives every function of a workflow n servers.
func pools(flow *workflow.Workflow, n int32) sim.Config {
	c := sim.Config{SketchBits: sim.NoSketch}
	for _, name := range flow.Functions() {
		c.Functions = append(c.Functions, servers(name, n))
	}
	return c
}

func compile(t testing.TB, g workflow.Graph) *workflow.Workflow {
	t.Helper()
	w, err := g.Compile()
	ok(t, err)
	return w
}

func newWalk(t testing.TB, c serve.Config) *serve.Walk {
	t.Helper()
	w, err := serve.New(c)
	ok(t, err)
	return w
}

func ok(t testing.TB, err error) {
	t.Helper()
	must.Do(t, err)
}

// poisson is a load of Poisson arrivals.
func poisson(t testing.TB, rate float64, minutes int) *workload.Source {
	t.Helper()
	c := workload.Default()
	c.Kind, c.Rate, c.Length = workload.Poisson, rate, minutes
	s, err := workload.Open(c)
	ok(t, err)
	return s
}

// ended is a request's latency, with who it was.
type ended struct {
	a, b    uint64
	latency sim.Time
	failed  bool
}

// book notes how requests end.
type book struct {
	walk  *serve.Walk
	ended []ended
}

func (k *book) end(q serve.Request) {
	k.ended = append(k.ended, ended{q.A, q.B, k.walk.Sim().Now() - q.Begun, q.Failed})
}

// exponential gives every task exponential work of a function's mean.
func exponential(key rng.Key, mean ...float64) func(*serve.Visit) (float64, uint64) {
	return func(v *serve.Visit) (float64, uint64) {
		k := v.Key(key)
		return mean[v.Function] * k.Exp(), k.Uint64()
	}
}
