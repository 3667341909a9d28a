package workflow

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stoker-rl/stoker/internal/must"
)

// exponential is a law with a mean.
type exponential float64

func (e exponential) Mean() float64           { return float64(e) }
func (e exponential) Above(s float64) float64 { return math.Exp(-max(0, s) / float64(e)) }

// uniform is a law between two times.
type uniform struct{ from, to float64 }

func (u uniform) Mean() float64 { return (u.from + u.to) / 2 }
func (u uniform) Above(s float64) float64 {
	return min(1, max(0, (u.to-s)/(u.to-u.from)))
}

func distribution(t testing.TB, w *Workflow, laws []Law, d Delays, g Grid) Distribution {
	t.Helper()
	out := must.Get(w.Distribution(laws, d, g))(t)
	return out
}

// quantile solves above(s) = 1-p.
func quantile(p float64, above func(s float64) float64) float64 {
	low, high := 0.0, 1e6
	for range 100 {
		if mid := (low + high) / 2; above(mid) > 1-p {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// Response times whose distribution is known.
func TestDistributionClosedForms(t *testing.T) {
	same := func(l Law, n int) []Law { return slices.Repeat([]Law{l}, n) }
	max3 := func(s float64) float64 { return 1 - math.Pow(1-math.Exp(-s), 3) }
	for name, c := range map[string]struct {
		g     Graph
		laws  []Law
		d     Delays
		above func(s float64) float64
		mean  float64
	}{
		// A geometric sum of exponential times is exponential.
		"geometric sum": {New("", Repeat("a", "a", 0.75), Choice("a", To(End, 0.25))), same(exponential(0.5), 1), Delays{},
			func(s float64) float64 { return math.Exp(-s / 2) }, 2},
		// So it is for a loop that is left in the middle: a, then b or out; b repeats a. Runs of both are exponential with one
		// mean: the request ends after each with one probability.
		"overlapping": {New("", Choice("a", To("b", 0.75), To(End, 0.25)), Repeat("b", "a", 0.5), Repeat("b", "b", 0.25),
			Choice("b", To(End, 0.25))), same(exponential(0.5), 2), Delays{}, func(s float64) float64 { return math.Exp(-s / 2) }, 2},
		"convolution": {New("", Chain("a", "b")), same(exponential(1), 2), Delays{},
			func(s float64) float64 { return math.Exp(-s) * (1 + s) }, 2},
		// a leads to c directly too: c waits for b alone, which ends later.
		"shortcut": {New("", Chain("a", "b", "c"), Chain("a", "c")), []Law{fixed(0), exponential(1), exponential(1)}, Delays{},
			func(s float64) float64 { return math.Exp(-s) * (1 + s) }, 2},
		"maximum": {New("", Fork("a", "b", "c", "d"), Join("e", "b", "c", "d")),
			[]Law{fixed(0), exponential(1), exponential(1), exponential(1), fixed(0)}, Delays{}, max3, 11.0 / 6},
		"open ends": {New("", Fork("a", "b", "c", "d")), []Law{fixed(0), exponential(1), exponential(1), exponential(1)},
			Delays{}, max3, 11.0 / 6},
		"branch": {New("", Choice("a", To("b", 0.25), To("c", 0.75))), []Law{fixed(0), exponential(4), exponential(1)},
			Delays{}, func(s float64) float64 { return 0.25*math.Exp(-s/4) + 0.75*math.Exp(-s) }, 1.75},
		"two of two": {New("", Fork("a", "b", "c"), Choice("b", To("d", 0.5), To("e", 0.5)), Join("f", "c", "d", "e")),
			[]Law{fixed(0), fixed(0), uniform{0, 1}, uniform{0, 1}, fixed(0), fixed(0)}, Delays{},
			// The functions in order: a, b, c, d, e, f. c against d (uniform) or e (no time).
			func(s float64) float64 { s = min(1, s); return 1 - (0.5*s*s + 0.5*s) }, 0.5*2/3 + 0.5/2},
		"delays": {New("", Chain("a", "b", "c")), []Law{fixed(0), exponential(1), fixed(0.25)}, Delays{Node: 0.5, Edge: 0.125},
			func(s float64) float64 { return math.Exp(-max(0, s-2)) }, 3},
		"calls": {New("", Calls("a", "b", "c")), []Law{fixed(1), exponential(1), exponential(1)}, Delays{},
			func(s float64) float64 { s = max(0, s-1); return math.Exp(-s) * (1 + s) }, 3},
		"loop below a fork": {New("", Fork("a", "b", "c"), Repeat("b", "b", 0.5), Choice("b", To("d", 0.5)), Chain("c", "d")),
			[]Law{fixed(0), exponential(0.5), exponential(1), fixed(0)}, Delays{},
			func(s float64) float64 { return 1 - math.Pow(1-math.Exp(-s), 2) }, 1.5},
		// A fork in a loop: the longest of two, twice in expectation.
		"fork in a loop": {New("", Fork("a", "b", "c"), Join("d", "b", "c"), Repeat("d", "a", 0.5), Choice("d", To(End, 0.5))),
			[]Law{fixed(0), exponential(1), fixed(0), fixed(0)}, Delays{}, func(s float64) float64 { return math.Exp(-s / 2) }, 2},
		// A fork that repeats, then runs: its last run is an exponential sum too; the longer path is the time of c.
		"fork that repeats": {New("", Chain("a", "b"), Repeat("a", "a", 0.5), Choice("a", To("c", 0.5)), Join("d", "b", "c")),
			[]Law{exponential(0.5), fixed(0), fixed(0), fixed(0)}, Delays{}, func(s float64) float64 { return math.Exp(-s) }, 1},
	} {
		w := compile(t, c.g)
		got := distribution(t, w, c.laws, c.d, Grid{})
		for _, p := range []float64{0.25, 0.5, 0.9, 0.95, 0.99, 0.999} {
			want := quantile(p, c.above)
			q := got.Quantile(p)
			if !near(q, want, 0.3*got.Step+1e-4*want) {
				t.Errorf("%s: quantile %v is %v, want %v (step %v)", name, p, q, want, got.Step)
			}
			if low, high := got.Bounds(p); !(low <= want*(1+1e-9)+1e-9 && want <= high*(1+1e-9)+1e-9) {
				t.Errorf("%s: quantile %v is %v, not between %v and %v", name, p, want, low, high)
			}
		}
		if !near(got.Mean, c.mean, 1e-3*c.mean) {
			t.Errorf("%s: mean %v, want %v", name, got.Mean, c.mean)
		}
		for _, s := range []float64{0.1, 0.7, 3} {
			if a := got.Above(s); !near(a, c.above(s), 2e-3+got.Step) {
				t.Errorf("%s: %v take longer than %v s, want %v", name, a, s, c.above(s))
			}
		}
		if got.Crossing || !(got.Error > 0) || got.Error > 12*got.Step || got.Beyond > 2e-5 {
			t.Errorf("%s: error %v of step %v, beyond %v, crossing %v", name, got.Error, got.Step, got.Beyond, got.Crossing)
		}
	}
}

// sample simulates response times with random run times.
func sample(t testing.TB, w *Workflow, draw []func(r *rand.Rand) float64, requests int) []float64 {
	t.Helper()
	type event struct {
		at   float64
		node int32
	}
	r := rand.New(rand.NewPCG(7, 11))
	tr := NewTracker(w, 3)
	var step Step
	out := make([]float64, requests)
	for k := range out {
		var pending []event
		run := tr.Begin(0, uint64(k), &step)
		for {
			for _, v := range step.Start {
				pending = append(pending, event{out[k] + draw[v.Node](r), v.Node})
			}
			if step.Finished {
				break
			}
			i := 0
			for j := range pending {
				if pending[j].at < pending[i].at {
					i = j
				}
			}
			e := pending[i]
			pending = slices.Delete(pending, i, i+1)
			out[k] = e.at
			must.Do(t, tr.Done(run, e.node, &step))
		}
	}
	slices.Sort(out)
	return out
}

// A large simulation of a workflow with everything in it: a loop that overlaps another, a fork with a branch in one
// path and a loop in the other, calls, and the six applications of PRCP.
func TestDistributionSimulated(t *testing.T) {
	all := New("all", Choice("a", To("b", 0.6), To("c", 0.4)), Repeat("b", "a", 0.3), Choice("b", To("c", 0.3), To("d", 0.4)),
		Repeat("c", "b", 0.2), Repeat("c", "c", 0.2), Choice("c", To("d", 0.6)),
		Fork("d", "e", "f"), Choice("e", To("g", 0.3), To("h", 0.7)), Repeat("f", "f", 0.3), Choice("f", To("i", 0.7)),
		Join("j", "g", "h", "i"), Calls("h", "x", "y"))
	graphs := []Graph{all}
	for _, app := range prcp() {
		graphs = append(graphs, app.graph)
	}
	requests := 50_000
	if testing.Short() {
		requests = 20_000
	}
	for _, g := range graphs {
		w := compile(t, g)
		var laws []Law
		var draw []func(r *rand.Rand) float64
		for n := range w.NumNodes() {
			if m := 0.5 + float64(n%3); n%2 == 0 {
				laws = append(laws, exponential(m))
				draw = append(draw, func(r *rand.Rand) float64 { return m * r.ExpFloat64() })
			} else {
				laws = append(laws, uniform{m / 2, 2 * m})
				draw = append(draw, func(r *rand.Rand) float64 { return m/2 + 1.5*m*r.Float64() })
			}
		}
		got := distribution(t, w, laws, Delays{}, Grid{})
		times := sample(t, w, draw, requests)
		for _, p := range []float64{0.05, 0.5, 0.95, 0.99} {
			// The distribution function at the predicted quantile, within 5 standard errors.
			q := got.Quantile(p)
			below, _ := slices.BinarySearch(times, q)
			if f := float64(below) / float64(requests); !near(f, p, 5*math.Sqrt(p*(1-p)/float64(requests))+2e-4) {
				t.Errorf("%s: %.4f of the requests are faster than the quantile %v of %.3f s", w.Name(), f, p, q)
			}
		}
	}
}

// Where paths cross, the truth lies between the bounds, and the middle is close to it.
func TestDistributionCrossing(t *testing.T) {
	graphs := []Graph{New("one", Fork("a", "b", "c"), Join("d", "b", "c"), Chain("c", "e"), Join("f", "d", "e"))}
	for seed := range uint64(6) {
		g := must.Get(Generate(GenerateConfig{Functions: 6 + 3*int(seed), Seed: seed, Shape: Crossing}))(t)
		graphs = append(graphs, g)
	}
	const requests = 20_000
	crossing := 0
	for _, g := range graphs {
		w := compile(t, g)
		laws := slices.Repeat([]Law{exponential(1)}, w.NumNodes())
		draw := slices.Repeat([]func(*rand.Rand) float64{(*rand.Rand).ExpFloat64}, w.NumNodes())
		got := distribution(t, w, laws, Delays{}, Grid{Points: 1024})
		times := sample(t, w, draw, requests)
		for _, p := range []float64{0.5, 0.95, 0.99} {
			low, high := got.Bounds(p)
			s := times[int(p*requests)]
			if s < 0.97*low || s > 1.03*high || !near(got.Quantile(p), s, 0.1*s) {
				t.Errorf("%s: quantile %v is %.2f, of a simulation %.2f, between %.2f and %.2f", w.Name(), p, got.Quantile(p), s, low,
					high)
			}
		}
		if got.Crossing {
			crossing++
		}
	}
	if crossing < 4 {
		t.Errorf("paths cross in %d of %d workflows", crossing, len(graphs))
	}
}

// The mean of the distribution is the expected response time wherever that is exact: without forks.
func TestDistributionMean(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, err := drawCycles(rt, "n").Compile()
		if err != nil {
			return
		}
		laws := make([]Law, w.NumNodes())
		means := make([]float64, w.NumNodes())
		for n := range laws {
			means[n] = 0.5 + float64(n%3)
			laws[n] = exponential(means[n])
		}
		d := Delays{Node: 0.1, Edge: 0.01}
		got := must.Get(w.Distribution(laws, d, Grid{Points: 1024}))(rt)
		if want := w.Response(means, d); !near(got.Mean, want, 1e-3*want) {
			rt.Errorf("mean %v, want %v", got.Mean, want)
		}
	})
}

// Quantiles on one grid are those of the distributions.
func TestQuantiles(t *testing.T) {
	for seed := range uint64(8) {
		g := must.Get(Generate(GenerateConfig{Functions: 8, Seed: seed, Shape: Mixed}))(t)
		w := compile(t, g)
		laws := make([][]Law, w.NumNodes())
		for n := range laws {
			laws[n] = []Law{exponential(0.5), uniform{0.5, 2}, exponential(1 + float64(n)/4)}
		}
		choice, some := make([]int, len(laws)), make([]Law, len(laws))
		q := must.Get(w.Quantiles(laws, StepFunctions(Once), 100, 4096))(t)
		for k := range 6 {
			for n := range choice {
				choice[n] = (n*k + k/2) % 3
				some[n] = laws[n][choice[n]]
			}
			d := distribution(t, w, some, StepFunctions(Once), Grid{})
			for _, p := range []float64{0.5, 0.95} {
				if got, want := q.Of(choice, p), d.Quantile(p); !near(got, want, 0.5*q.g.Step+0.5*d.Step+1e-3*want) {
					t.Errorf("%s: quantile %v is %v, want %v", w.Name(), p, got, want)
				}
			}
		}
		if got := q.Of(choice, 1); !math.IsInf(got, 1) && got < 50 {
			t.Errorf("%s: every request is done by %v s", w.Name(), got)
		}
	}
}

func TestDistributionRefused(t *testing.T) {
	w := compile(t, New("w", Chain("a", "b")))
	ok := []Law{exponential(1), exponential(1)}
	over := compile(t, New("o", Fork("a", "b", "c"), Repeat("b", "a", 0.25), Choice("b", To("d", 0.75)), Chain("c", "d")))
	for name, c := range map[string]struct {
		w    *Workflow
		laws []Law
		g    Grid
		want string
	}{
		"laws":    {w, ok[:1], Grid{}, "one for each of its 2 nodes"},
		"no law":  {w, []Law{ok[0], nil}, Grid{}, `node "b" has no law`},
		"mean":    {w, []Law{ok[0], exponential(math.Inf(1))}, Grid{}, `node "b" has mean +Inf`},
		"points":  {w, ok, Grid{Points: 1000}, "power of two"},
		"step":    {w, ok, Grid{Step: -1}, "positive"},
		"short":   {w, ok, Grid{Step: 1e-4, Points: 1024}, "longer step"},
		"overlap": {over, []Law{ok[0], ok[0], ok[0], ok[0]}, Grid{}, "b -> a"},
	} {
		if _, err := c.w.Distribution(c.laws, Delays{}, c.g); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func ExampleWorkflow_Distribution() {
	w, err := New("", Chain("a", "b"), Repeat("b", "a", 0.2), Choice("b", To(End, 0.8))).Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := w.Distribution([]Law{exponential(0.2), uniform{0.1, 0.3}}, StepFunctions(Once), Grid{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("mean %.2f s, p95 %.2f s\n", d.Mean, d.P95)
	// Output: mean 0.55 s, p95 1.23 s
}

func BenchmarkDistribution(b *testing.B) {
	b.ReportAllocs()
	w := compile(b, prcp()[5].graph)
	laws := slices.Repeat([]Law{exponential(1)}, w.NumNodes())
	for range b.N {
		distribution(b, w, laws, StepFunctions(Once), Grid{})
	}
}

// Graphs of 60 nodes whose edges cross.
func BenchmarkDistributionCrossing(b *testing.B) {
	var worst time.Duration
	for b.Loop() {
		for seed := range uint64(24) {
			g := must.Get(Generate(GenerateConfig{Functions: 60, Seed: seed, Shape: Crossing}))(b)
			w := compile(b, g)
			begun := b.Elapsed()
			distribution(b, w, slices.Repeat([]Law{exponential(1)}, w.NumNodes()), StepFunctions(Once), Grid{})
			worst = max(worst, b.Elapsed()-begun)
		}
	}
	b.ReportMetric(worst.Seconds(), "s-worst")
}
