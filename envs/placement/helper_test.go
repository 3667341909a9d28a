package placement

import (
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// world is a world of nodes that a test steps by hand.
type world struct {
	t   testing.TB
	e   *Env
	obs *envs.Observation
	act *envs.Action
	out *envs.Outcome
}

func newWorld(t testing.TB, c Config) *world {
	t.Helper()
	e := must.Get(New(c, workload.Default()))(t)
	w := &world{t, e, envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())}
	w.reset(1)
	return w
}

func (w *world) reset(seed uint64) {
	w.t.Helper()
	if err := w.e.Reset(seed, nil, w.obs); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) do(which, amount, node int) error {
	w.act.Kinds[0][0], w.act.Kinds[0][1], w.act.Kinds[0][2] = float32(which), float32(amount), float32(node)
	return w.e.Step(w.act, w.obs, w.out)
}

func (w *world) start(which, amount, node int) {
	w.t.Helper()
	if err := w.do(which, amount, node); err != nil {
		w.t.Fatal(err)
	}
	if w.out.Elapsed != 0 || w.out.Terminated || w.out.Truncated {
		w.t.Fatalf("a start took %d µs, terminated %t, truncated %t, want none", w.out.Elapsed, w.out.Terminated,
			w.out.Truncated)
	}
}

// wait waits and returns the time that it is then, in seconds.
func (w *world) wait() float64 {
	w.t.Helper()
	if err := w.do(w.e.layout.Wait(), 0, 0); err != nil {
		w.t.Fatal(err)
	}
	return seconds(w.e.now)
}

func (w *world) graph() *envs.GraphValue { return w.obs.Kinds[0].Graphs[0] }

// info is a quantity of the last step.
func (w *world) info(name string) float64 {
	w.t.Helper()
	i, err := w.e.Spec().InfoIndex(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.out.Info[i]
}

func (w *world) want(name string, want float64) {
	w.t.Helper()
	if got := w.info(name); !near(got, want) {
		w.t.Errorf("%s is %.9g, want %.9g", name, got, want)
	}
}

func near(a, b float64) bool { return a-b < 1e-6*(1+max(b, -b)) && b-a < 1e-6*(1+max(b, -b)) }

// twoNodes is a small node and one that is twice as large, twice as fast and twice as dear, with one request a
// second, each of the workflow. A core costs 1e-4 USD a second and a GB 1e-5. Only latency is rewarded.
func twoNodes(t testing.TB, requests int, steps ...Step) Config {
	t.Helper()
	c := Default()
	c.Nodes = []NodeClass{
		{Name: "small", Count: 1, CPU: 1000, Memory: 1000, Network: 100, Speed: 1, Price: 1},
		{Name: "large", Count: 1, CPU: 2000, Memory: 2000, Network: 200, GPU: 2, Speed: 2, Price: 2},
	}
	c.Amounts = []float64{0.5, 1, 2}
	c.Functions = []Function{
		{Name: "f", CPU: 1000, Memory: 600, Network: 10, Image: 100, Parallel: 0.5},
		{Name: "g", CPU: 500, Memory: 500, Network: 10, GPU: 1, Parallel: 1},
		{Name: "h", CPU: 500, Memory: 600, Network: 10, Parallel: 0},
	}
	c.Workflows = []Workflow{{Name: "w", Share: 1, Steps: steps}}
	c.Variation, c.Noise, c.Size, c.KeepAlive = 0, 0, Span{1, 1}, 4
	c.Cold = ColdStart{Boot: 0.25, Pull: 400} // f 0.5 s, others 0.25 s
	c.Prices = Prices{CPU: 0.36, Memory: 0.036, GPU: 3.6, Idle: 0.5}
	c.Priorities = []Priority{{Share: 1, Weight: 2, Factor: 1, Grace: 0.3}}
	c.Weights = Weights{Latency: 1}
	c.Seconds = float64(requests) + 0.5
	s := must.Get(NewSystem(c, workload.Default()))(t)
	c.Load = 1 / s.Rate(1)
	return c
}
