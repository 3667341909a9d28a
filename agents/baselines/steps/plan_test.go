package steps

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// every calls f with each combination of the numbers below counts.
func every(counts []int, f func([]int)) {
	at := make([]int, len(counts))
	for {
		f(at)
		i := 0
		for ; i < len(at); i++ {
			if at[i]++; at[i] < counts[i] {
				break
			}
			at[i] = 0
		}
		if i == len(at) {
			return
		}
	}
}

// The oracle's plan is the cheapest of all combinations, but for the 0.1 % of its front.
func TestOracleByEnumeration(t *testing.T) {
	for app := range 4 {
		w := generated(t, uint64(app), 3, 5, steps.AnyShape)
		menus := make([]menu, w.m.NumSteps())
		counts := make([]int, len(menus))
		for v := range menus {
			for i, c := range newMenu(w.m, v, Parallelism{}, 0.9) {
				if i%9 == 0 {
					menus[v] = append(menus[v], c)
				}
			}
			counts[v] = len(menus[v])
		}
		all := newPlans(w.m, menus, 1e-3)
		front := all.some(w.g)
		after, times := make([]float64, len(menus)), make([]float64, len(menus))
		for _, factor := range []float64{1.1, 1.5, 2, 4} {
			slo := factor * front[0].Seconds
			least, within := math.Inf(1), math.Inf(1) // within: of those that are 0.1 % quicker than they must be
			every(counts, func(at []int) {
				usd := 0.0
				for v, i := range at {
					times[v], usd = menus[v][i].seconds, usd+menus[v][i].option.USD
				}
				if usd >= within {
					return
				}
				if s := w.g.after(after, times); s <= slo/1.001 {
					within, least = usd, min(least, usd)
				} else if s <= slo*(1+1e-12) {
					least = min(least, usd)
				}
			})
			p, ok := all.cheapest(slo)
			if !ok || p.USD > within*1.001 || p.USD < least*(1-1e-9) {
				t.Errorf("workflow %d at %g: the oracle's plan costs %g, the cheapest of all %g", app, factor, p.USD, least)
			}
		}
	}
}

// The fronts of a chain's suffixes are those of all combinations, but for the thinning: within 0.2 % of time.
func TestSuffixByEnumeration(t *testing.T) {
	stream := rng.NewStream(1, "test")
	points := make([][]point, 4)
	for v := range points {
		for i := range 12 {
			s := 0.2 + stream.Float64()
			points[v] = append(points[v], point{seconds: s, usd: 0.2/s + 0.1*stream.Float64(), first: int32(i)})
		}
	}
	var front []point
	for v := 3; v >= 0; v-- {
		front = suffix(points[v], front)
	}
	for range 50 {
		left := 1 + 4*stream.Float64()
		least := math.Inf(1)
		every([]int{12, 12, 12, 12}, func(at []int) {
			var s, usd float64
			for v, i := range at {
				s, usd = s+points[v][i].seconds, usd+points[v][i].usd
			}
			if s <= left*0.998 {
				least = min(least, usd)
			}
		})
		got := math.Inf(1)
		for _, p := range front {
			if p.seconds <= left {
				got = min(got, p.usd)
			}
		}
		if got > least*(1+1e-12) {
			t.Errorf("in %g s the front costs %g, all combinations %g", left, got, least)
		}
	}
}

// Where every step takes what was predicted, replan by added quantiles is the oracle: on chains but for the thinning of
// its fronts, elsewhere within 3 %.
func TestReplanOnSchedule(t *testing.T) {
	for app := range 12 {
		w := generated(t, uint64(app), 4, 10, steps.AnyShape)
		oracle := must.Get(NewOracle(DefaultOracle()))(t)
		replan := must.Get(NewReplan(ReplanConfig{Quantile: 0.9, Risk: Added}))(t)
		for _, factor := range []float64{1.05, 1.2, 2, 3} {
			slo := factor * w.m.Fastest
			a, b := w.play(oracle, slo, 0, always(0.9)), w.play(replan, slo, 0, always(0.9))
			if b.seconds > slo*(1+1e-9) {
				t.Errorf("workflow %d at %g: replan takes %g s of %g s", app, factor, b.seconds, slo)
			}
			allowed := 1.03
			if w.g.fork() < 0 {
				allowed = 1.005
			}
			if b.usd > a.usd*allowed {
				t.Errorf("workflow %d at %g: replan costs %g of the oracle's price", app, factor, b.usd/a.usd)
			}
		}
	}
}

// A request that cannot be in time any more takes the fastest plan as long as there is time, then the cheapest.
func TestReplanLate(t *testing.T) {
	w := generated(t, 0, 3, 3, steps.ChainShape)
	r := must.Get(NewReplan(DefaultReplan()))(t)
	r.Begin(w.m, 10, 1)
	at := &steps.Moment{Now: 9.999}
	if got := w.m.Option(0, r.Decide(at, 0)); got.USD != w.m.Options[0][0].USD {
		t.Errorf("just before the limit it pays %g, want the fastest option's %g", got.USD, w.m.Options[0][0].USD)
	}
	at.Now = 10
	last := w.m.Options[0][len(w.m.Options[0])-1]
	if got := w.m.Option(0, r.Decide(at, 0)); got.USD != last.USD {
		t.Errorf("behind the limit it pays %g, want the cheapest option's %g", got.USD, last.USD)
	}
}

// dp's value of one step is the least price plus λ times the probability to be late, and that of a chain is what playing
// gives; no other decider pays less.
func TestDPValue(t *testing.T) {
	w := generated(t, 4, 3, 3, steps.ChainShape)
	d := must.Get(NewDP(DefaultDP()))(t)
	for _, factor := range []float64{1, 1.5} {
		slo, miss := factor*w.m.Fastest, 3*w.m.Unit
		const n = 2000
		mean := func(x steps.Decider) (mean, deviation float64) {
			var sum, squares float64
			for r := range n {
				e := w.play(x, slo, miss, draws(r))
				if e.seconds > slo {
					e.usd += miss
				}
				sum, squares = sum+e.usd, squares+e.usd*e.usd
			}
			mean = sum / n
			return mean, math.Sqrt((squares/n - mean*mean) / n)
		}
		played, deviation := mean(d)
		d.Begin(w.m, slo, miss)
		if value := d.Value(); math.Abs(played-value) > 4*deviation+0.004*value {
			t.Errorf("at %g: playing dp costs %g ± %g, its value is %g", factor, played, deviation, value)
		}
		for _, q := range []float64{0.6, 0.8, 0.95} {
			r := must.Get(NewReplan(ReplanConfig{Quantile: q, Risk: Pooled}))(t)
			if other, _ := mean(r); other < played*0.997 {
				t.Errorf("at %g: replan at %g costs %g, dp %g", factor, q, other, played)
			}
		}
	}
}

// The last step of dp by hand: each option's price plus λ times its probability to be late, by bisection.
func TestDPLastStep(t *testing.T) {
	w := generated(t, 4, 3, 3, steps.ChainShape)
	d := must.Get(NewDP(DPConfig{Miss: 1, Bins: 4096}))(t)
	slo, miss := 2*w.m.Fastest, 5*w.m.Unit
	d.Begin(w.m, slo, miss)
	last := w.m.Flow.Order()[2]
	late := func(o int, left float64) float64 {
		lo, hi := 0.0, 1.0
		for range 40 {
			if mid := (lo + hi) / 2; w.m.Seconds(last, o, min(max(mid, 1e-6), 1-1e-6), 0) < left {
				lo = mid
			} else {
				hi = mid
			}
		}
		return 1 - lo
	}
	for _, left := range []float64{0.3, 0.5, 0.8, 1.2, 2} {
		left *= w.m.Options[last][len(w.m.Options[last])/2].P90
		price := func(o int) float64 { return w.m.Options[last][o].USD + miss*late(o, left) }
		least := math.Inf(1)
		for o := range w.m.Options[last] {
			least = min(least, price(o))
		}
		if got := price(d.Decide(&steps.Moment{Now: slo - left, SLO: slo}, last)); got > least*1.01 {
			t.Errorf("with %g s left dp's option costs %g, the best %g", left, got, least)
		}
	}
}

// dp says which workflows it does not plan.
func TestDPSuits(t *testing.T) {
	d := must.Get(NewDP(DefaultDP()))(t)
	if err := d.Suits(generated(t, 0, 4, 6, steps.ChainShape).m); err != nil {
		t.Error(err)
	}
	if d.Suits(generated(t, 0, 6, 9, steps.DAGShape).m) == nil {
		t.Error("a graph is taken for a chain")
	}
	// A branch may end the request: a chain that is left.
	one := func(name string) steps.StepConfig {
		return steps.StepConfig{Name: name, Tasks: 4, Law: steps.Law{A: 5}}
	}
	left := steps.App{Name: "left", Platform: steps.AWS, Steps: []steps.StepConfig{one("a"), one("b")},
		Workflow: workflow.Graph{Nodes: []workflow.Node{{Name: "a"}, {Name: "b"}}, Edges: []workflow.Edge{
			{From: "a", To: "b", Kind: workflow.Branch, Probability: 0.1},
			{From: "a", To: workflow.End, Kind: workflow.Branch, Probability: 0.9},
		}}}
	m := must.Get(left.Compile())(t)
	if d.Suits(m) == nil {
		t.Error("a workflow whose second step seldom runs is planned as a chain")
	}
	replan := must.Get(NewReplan(DefaultReplan()))(t)
	if new(steps.Player).Play(m, replan, rng.New(1, "left"), 2*m.Fastest, m.Unit).Decisions == 0 {
		t.Error("replan decides nothing there")
	}
}

// Orion by hand: two steps of certain times 4, 3, 2 and 6, 3, 2 s. From 10 s it raises the second (7 s), then the first
// (6 s).
func TestOrionByHand(t *testing.T) {
	w := generated(t, 0, 3, 3, steps.ChainShape)
	o := &orion{config: DefaultOrion()}
	o.config.Draws = 16
	d := &drawn{graph: w.g}
	for _, times := range [][]float64{{4, 3, 2}, {6, 3, 2}, {0}} {
		var l menu
		var all [][]float64
		for i, s := range times {
			l = append(l, choice{code: i, option: steps.Option{USD: float64(i)}})
			draws := make([]float64, 16)
			for k := range draws {
				draws[k] = s
			}
			all = append(all, draws)
		}
		d.sizes, d.times = append(d.sizes, l), append(d.times, all)
	}
	o.tables.make = func(*steps.Model) *drawn { return d }
	choice := make([]int, 3)
	for slo, want := range map[float64][3]int{10: {0, 0, 0}, 7: {0, 1, 0}, 6.5: {1, 1, 0}, 1: {2, 2, 0}} {
		if o.plan(w.m, slo, choice); [3]int(choice) != want {
			t.Errorf("within %g s it has sizes %v, want %v", slo, choice, want)
		}
	}
}

// Orion's end-to-end quantile agrees with playing.
func TestOrionQuantile(t *testing.T) {
	w := generated(t, 3, 5, 5, steps.AnyShape)
	c := DefaultOrion()
	c.Draws = 1024
	x := must.Get(NewOrion(c))(t)
	slo := 1.2 * w.m.Fastest * 3
	late := 0
	const n = 2000
	for r := range n {
		if w.play(x, slo, 0, draws(r)).seconds > slo {
			late++
		}
	}
	if late > n*7/100 {
		t.Errorf("%d of %d requests are late, want about 5 %% at most", late, n)
	}
}

// COSE's fitted times are near the true ones where it has sampled enough.
func TestCOSELearns(t *testing.T) {
	w := generated(t, 5, 6, 6, steps.ChainShape)
	c := DefaultCOSE()
	var errors, n float64
	for v := range w.m.NumSteps() {
		for _, o := range c.learn(w.m, v) {
			errors += math.Abs(o.seconds/w.m.Seconds(v, o.code, 0.9, 0) - 1)
			n++
		}
	}
	if errors/n > 0.15 {
		t.Errorf("the fitted 90th percentiles are wrong by %.0f %% on average", 100*errors/n)
	}
}

// No decision allocates, and all are options that the model has.
func TestDecisionsDoNotAllocate(t *testing.T) {
	for _, w := range []*world{generated(t, 6, 8, 8, steps.ChainShape), generated(t, 7, 8, 8, steps.DAGShape)} {
		at := moment(w.m)
		for name, d := range allDeciders(t) {
			if s, ok := d.(interface{ Suits(*steps.Model) error }); ok && s.Suits(w.m) != nil {
				continue
			}
			slo := 1.5 * w.m.Fastest
			d.Begin(w.m, slo, w.m.Unit)
			if n := testing.AllocsPerRun(20, func() {
				d.Begin(w.m, slo, w.m.Unit)
				for v := range w.m.NumSteps() {
					d.Decide(at, v)
				}
			}); n != 0 {
				t.Errorf("%s allocates %g times a request", name, n)
			}
		}
	}
}

// moment is one at which nothing has begun.
func moment(m *steps.Model) *steps.Moment {
	n := m.NumSteps()
	at := &steps.Moment{State: make([]steps.State, n), Choice: make([]int, n), Begun: make([]float64, n),
		Done: make([]float64, n), Warm: make([][]int, n)}
	for v := range at.Choice {
		at.Choice[v] = -1
	}
	at.State[m.Flow.Entry()] = steps.Ready
	return at
}

func allDeciders(t testing.TB) map[string]steps.Decider {
	t.Helper()
	must := func(d steps.Decider, err error) steps.Decider {
		t.Helper()
		must.Do(t, err)
		return d
	}
	return map[string]steps.Decider{
		"stepconf": must(NewStepConf(DefaultStepConf())), "vanilla": must(NewVanilla(DefaultVanilla())),
		"oracle": must(NewOracle(DefaultOracle())), "orion": must(NewOrion(DefaultOrion())),
		"cose": must(NewCOSE(DefaultCOSE())), "replan": must(NewReplan(DefaultReplan())), "dp": must(NewDP(DefaultDP())),
	}
}

// BenchmarkDecide is the first decision of a request of 16 steps, which for StepConf is the dearest.
func BenchmarkDecide(b *testing.B) {
	chain, dag := generated(b, 6, 16, 16, steps.ChainShape), generated(b, 7, 16, 16, steps.DAGShape)
	for name, d := range allDeciders(b) {
		for shape, w := range map[string]*world{"chain": chain, "dag": dag} {
			if s, ok := d.(interface{ Suits(*steps.Model) error }); ok && s.Suits(w.m) != nil {
				continue
			}
			b.Run(name+"/"+shape, func(b *testing.B) {
				at := moment(w.m)
				b.ReportAllocs()
				for b.Loop() {
					d.Begin(w.m, 1.5*w.m.Fastest, w.m.Unit)
					d.Decide(at, w.m.Flow.Entry())
				}
			})
		}
	}
}

// Where paths cross, plans are found too: the Oracle's keeps every limit and is no dearer than Algorithm 1's, and Replan's
// family reaches from the fastest plan to the cheapest.
func TestCrossing(t *testing.T) {
	app := must.Get(steps.Preset("dag"))(t)
	app.Platform, app.Own = steps.Own, steps.Lambda()
	app.Own.MaxInstances = 12 // fewer options, so that no plan takes long to find
	m := must.Get(app.Compile())(t)
	all, g := newPlans(m, menusAt(m, 0.9), 1e-3), newGraph(m.Flow)
	if all.front != nil {
		t.Fatal("the workflow's paths do not cross")
	}
	some := all.some(g)
	if d := some[0].Seconds/m.Fastest - 1; math.Abs(d) > 1e-9 || len(some) < crossing/2 {
		t.Errorf("%d plans, the fastest takes %g times the least time", len(some), 1+d)
	}
	for i := 1; i < len(some); i++ {
		if some[i].Seconds <= some[i-1].Seconds || some[i].USD >= some[i-1].USD {
			t.Errorf("plan %d is slower and no cheaper than the one before", i)
		}
	}
	algorithm := must.Get(NewStepConf(DefaultStepConf()))(t)
	choice := make([]int, m.NumSteps())
	for _, factor := range []float64{1.2, 1.5, 3} {
		best, ok := all.cheapest(factor * m.Fastest)
		algorithm.Begin(m, factor*m.Fastest, 0)
		algorithm.onSchedule(choice)
		usd := 0.0
		for v, k := range choice {
			usd += m.Option(v, k).USD
		}
		if !ok || best.Seconds > factor*m.Fastest*(1+1e-9) || best.USD > usd*(1+1e-9) {
			t.Errorf("limit %g: %+v, Algorithm 1 pays %g", factor, best, usd)
		}
	}
}

// BenchmarkAlgorithm1 is the first decision of a chain of 16 steps with 2,278 configurations each, searched anew: the
// weights of all steps, the path, and the cheapest configuration.
func BenchmarkAlgorithm1(b *testing.B) {
	a := steps.App{Name: "wide"}
	var names []string
	for i := range 16 {
		names = append(names, string(rune('a'+i)))
		a.Steps = append(a.Steps, steps.StepConfig{Name: names[i], Tasks: 300, Law: steps.Law{A: 0.5 + 0.1*float64(i), B: 0.05}})
	}
	a.Workflow = workflow.New(a.Name, workflow.Chain(names...))
	w := compiled(b, a)
	c := DefaultStepConf()
	c.Search = AmongAll
	s := must.Get(NewStepConf(c))(b)
	at := moment(w.m)
	s.Begin(w.m, 1.5*w.m.Fastest, 0)
	b.ReportAllocs()
	for b.Loop() {
		s.Begin(w.m, 1.5*w.m.Fastest, 0)
		s.Decide(at, w.m.Flow.Entry())
	}
	if n := len(w.m.Full(0)); n < 1980 {
		b.Errorf("a step has %d configurations, want 1,980 at least", n)
	}
}
