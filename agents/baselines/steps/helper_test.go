package steps

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// world plays requests by the model's laws: the time of a step is the quantile at the step's draw, which is the same under
// every decider.
type world struct {
	m *steps.Model
	g graph
}

// ended is what a request came to.
type ended struct {
	seconds, usd float64
	choice       []int
}

// play runs a request. Steps without a draw take their predicted time at a quantile.
func (w *world) play(d steps.Decider, slo, miss float64, level func(step int) float64) ended {
	n := w.m.NumSteps()
	at := steps.Moment{SLO: slo, Miss: miss, State: make([]steps.State, n), Choice: make([]int, n),
		Begun: make([]float64, n), Done: make([]float64, n), Warm: make([][]int, n)}
	for v := range at.Choice {
		at.Choice[v] = -1
	}
	out := ended{choice: at.Choice}
	ends := make([]float64, n)
	d.Begin(w.m, slo, miss)
	for {
		at.Ready = at.Ready[:0]
		for v := range n {
			ready := at.State[v] == steps.Waiting
			for _, u := range w.g.prev[v] {
				ready = ready && at.State[u] == steps.Done
			}
			if ready {
				at.State[v] = steps.Ready
				at.Ready = append(at.Ready, v)
			}
		}
		for len(at.Ready) > 0 {
			v := at.Ready[0]
			c := d.Decide(&at, v)
			at.Ready = at.Ready[1:]
			at.State[v], at.Choice[v], at.Begun[v] = steps.Running, c, at.Now
			ends[v] = at.Now + w.m.Seconds(v, c, level(v), 0)
			out.usd += w.m.Option(v, c).USD
			at.Spent = out.usd
		}
		next := -1
		for v := range n {
			if at.State[v] == steps.Running && (next < 0 || ends[v] < ends[next]) {
				next = v
			}
		}
		if next < 0 {
			out.seconds = at.Now
			return out
		}
		at.Now, at.State[next], at.Done[next] = ends[next], steps.Done, ends[next]
	}
}

// drawn returns the draws of a request.
func draws(request int) func(int) float64 {
	return func(step int) float64 {
		return min(max(rng.New(uint64(request), "test").With(uint64(step)).Open(), 1e-4), 1-1e-4)
	}
}

// at returns the same level for every step.
func always(level float64) func(int) float64 { return func(int) float64 { return level } }

func generated(t testing.TB, n uint64, from, to int, shape string) *world {
	t.Helper()
	g := steps.DefaultGenerated()
	g.Steps, g.Shape = []int{from, to}, shape
	a := must.Get(steps.Generate(n, g))(t)
	return compiled(t, a)
}

func compiled(t testing.TB, a steps.App) *world {
	t.Helper()
	m := must.Get(a.Compile())(t)
	return &world{m, newGraph(m.Flow)}
}

func near(t testing.TB, what string, got, want, relative float64) {
	t.Helper()
	if !(math.Abs(got-want) <= relative*math.Abs(want)) {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}
