package steps

import (
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/internal/must"
)

// byHand returns a StepConf of a workflow whose options' times are given; option i costs 10 − i.
func byHand(t *testing.T, c StepConfConfig, weight map[string]float64, times []float64, edges ...[]workflow.Edge) (
	*StepConf, *steps.Model, map[string]int) {
	t.Helper()
	flow := must.Get(workflow.New("hand", edges...).Compile())(t)
	table := &critical{graph: newGraph(flow)}
	number := map[string]int{}
	for v := range flow.NumNodes() {
		number[flow.NodeName(v)] = v
		var l menu
		for i, s := range times {
			l = append(l, choice{code: i, option: steps.Option{USD: float64(10 - i)}, seconds: s})
		}
		table.menus, table.weight = append(table.menus, l), append(table.weight, weight[flow.NodeName(v)])
	}
	s := &StepConf{config: c}
	s.tables.make = func(*steps.Model) *critical { return table }
	return s, &steps.Model{}, number
}

// A fork and a join: a (2 s) leads to b (4 s) and c (3 s), which meet at d (2 s). The critical path is a, b, d; of a
// limit of 16 s they get 4, 8 and 4 s, and c must have ended when d is to begin, at 12 s.
func TestStepConfByHand(t *testing.T) {
	weight := map[string]float64{"a": 2, "b": 4, "c": 3, "d": 2}
	times := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}
	fork := func(joins string) (*StepConf, *steps.Model, map[string]int) {
		c := DefaultStepConf()
		c.Joins = joins
		return byHand(t, c, weight, times, workflow.Fork("a", "b", "c"), workflow.Join("d", "b", "c"))
	}
	s, m, n := fork(Before)
	s.Begin(m, 16, 0)
	check := func(step string, now float64, share float64, option int) {
		t.Helper()
		if got := s.Decide(&steps.Moment{Now: now, SLO: 16}, n[step]); got != option {
			t.Errorf("%s at %g s: option %d, want %d", step, now, got, option)
		}
		near(t, step+"'s sub-SLO", s.share[0], share, 1e-12)
	}
	check("a", 0, 4, 2) // below 4 s, not at it
	check("b", 3, 4.0/6*13, 7)
	check("c", 3, 9, 7)
	check("d", 11, 5, 3)

	s, m, n = fork(Joined)
	s.Begin(m, 16, 0)
	check("a", 0, 4, 2)
	check("c", 3, 3.0/5*9, 4) // c shares the time to 12 s with d, which the printed sub-graph has in it

	s, m, n = fork(Before)
	s.Begin(m, 16, 0)
	check("a", 0, 4, 2)
	check("d", 17, -1, 0) // late: the fastest
}

// A branch of the critical path that itself forks: the sub-graph b to e beside the path is treated in the same way when b
// begins.
func TestStepConfNested(t *testing.T) {
	weight := map[string]float64{"a": 2, "x": 10, "b": 1, "c": 4, "d": 2, "e": 1, "z": 4}
	s, m, n := byHand(t, DefaultStepConf(), weight, []float64{0.1}, workflow.Fork("a", "x", "b"),
		workflow.Fork("b", "c", "d"), workflow.Join("e", "c", "d"), workflow.Join("z", "x", "e"))
	s.Begin(m, 32, 0) // a, x, z get 4, 20 and 8 s
	at := func(step string, now, want float64) {
		t.Helper()
		s.Decide(&steps.Moment{Now: now}, n[step])
		near(t, step+"'s sub-SLO", s.share[0], want, 1e-12)
	}
	at("a", 0, 4)
	at("x", 4, 20)
	at("b", 4, 20.0/6) // b, c, e of 1, 4 and 1 s until z begins at 24 s
	now := 4 + 20.0/6
	at("c", now, 4*20.0/6)
	at("d", now, 4*20.0/6) // until e is to begin
	at("e", 20, 4)
	at("z", 24, 8)
}

// A step that leads to several steps of the path must have ended before the first of them; one that leads to none, by the
// limit.
func TestStepConfExits(t *testing.T) {
	weight := map[string]float64{"a": 1, "m": 5, "b": 5, "c": 5, "x": 1, "y": 1}
	s, m, n := byHand(t, DefaultStepConf(), weight, []float64{0.1}, workflow.Chain("a", "m", "b", "c"),
		workflow.Fork("a", "x", "y"), workflow.Fork("x", "b", "c"))
	s.Begin(m, 32, 0) // a, m, b, c get 2, 10, 10 and 10 s
	s.Decide(&steps.Moment{}, n["a"])
	for step, want := range map[string]float64{"x": 12, "y": 32, "m": 32} {
		near(t, step+"'s limit", s.limit[n[step]], want, 1e-12)
	}
}

// Eq. 13 as arg min is the least product of time and price, as printed the greatest.
func TestEq13(t *testing.T) {
	w := generated(t, 1, 3, 3, steps.ChainShape)
	for _, reading := range []string{Least, Published} {
		c := DefaultStepConf()
		c.Eq13 = reading
		for v := range w.m.NumSteps() {
			got := c.effective(w.m, v, newMenu(w.m, v, Parallelism{}, 0.9))
			var products, seconds []float64
			for _, o := range w.m.Full(v) {
				products, seconds = append(products, o.USD*o.P90), append(seconds, o.P90)
			}
			want := slices.Min(products)
			if reading == Published {
				want = slices.Max(products)
			}
			// The front is thinned: the least product of all may be just off it.
			near(t, reading+" time", got, seconds[slices.Index(products, want)], 0.1)
		}
	}
}

// StepConf with fixed parallelism keeps it.
func TestFixedParallelism(t *testing.T) {
	w := generated(t, 2, 5, 8, steps.AnyShape)
	for name, c := range map[string]StepConfConfig{"inter": DefaultInter(), "intra": DefaultIntra()} {
		s := must.Get(NewStepConf(c))(t)
		e := w.play(s, 2*w.m.Fastest, w.m.Unit, draws(1))
		for v, code := range e.choice {
			o := w.m.Option(v, code)
			switch {
			case w.m.Free(v):
			case c.Processes > 0 && o.Processes != 1:
				t.Errorf("%s: step %d has %d processes, want 1", name, v, o.Processes)
			case c.Instances > 0 && o.Instances != min(16, w.m.MostInstances(v, o.MB)):
				t.Errorf("%s: step %d has %d instances, want 16 or as many as it can have", name, v, o.Instances)
			}
		}
	}
}

// Vanilla shares the limit once: with it, every step ends by its share on schedule, whatever happens before it.
func TestVanillaByHand(t *testing.T) {
	weight := map[string]float64{"a": 2, "b": 4, "c": 3, "d": 2}
	s, m, n := byHand(t, DefaultStepConf(), weight, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, workflow.Fork("a", "b", "c"),
		workflow.Join("d", "b", "c"))
	s.Begin(m, 16, 0)
	choice := make([]int, 4)
	s.onSchedule(choice)
	for step, want := range map[string]int{"a": 2, "b": 6, "c": 6, "d": 2} { // below 4, 8, 8 and 4 s
		if choice[n[step]] != want {
			t.Errorf("%s has option %d, want %d", step, choice[n[step]], want)
		}
	}
}

// Searching all configurations anew at every decision finds what the fronts have, but for options that these leave out:
// at most a few percent dearer, and as fast.
func TestSearchAll(t *testing.T) {
	w := generated(t, 2, 4, 6, steps.AnyShape)
	c := DefaultStepConf()
	front := must.Get(NewStepConf(c))(t)
	c.Search = AmongAll
	all := must.Get(NewStepConf(c))(t)
	for _, factor := range []float64{1.1, 1.5, 2.5} {
		slo := factor * w.m.Fastest
		a, b := w.play(front, slo, 0, always(0.9)), w.play(all, slo, 0, always(0.9))
		near(t, "the price of what is found among all", b.usd, a.usd, 0.05)
	}
	for v := range w.m.NumSteps() {
		if got, want := len(all.codes[v]), len(w.m.Full(v)); got != want {
			t.Errorf("step %d has %d configurations, want %d", v, got, want)
		}
	}
}

// A step that two branches lead to stays in the sub-graph of each: when the one has begun, the other still leaves it time.
func TestStepConfShared(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f"}
	app := steps.App{Name: "shared", Platform: steps.AWS, Workflow: workflow.New("shared", workflow.Fork("a", "b", "c", "e"),
		workflow.Join("d", "b", "c"), workflow.Join("f", "d", "e"))}
	for _, n := range names {
		a := 1.0
		if n == "e" {
			a = 4 // the critical path is a, e, f
		}
		app.Steps = append(app.Steps, steps.StepConfig{Name: n, Tasks: 20, Law: steps.Law{A: a, B: 0.05, Fixed: 0.1}})
	}
	m := must.Get(app.Compile())(t)
	s := must.Get(NewStepConf(DefaultStepConf()))(t)
	number := map[string]int{}
	for v := range m.NumSteps() {
		number[m.Flow.NodeName(v)] = v
	}
	s.Begin(m, 2*m.Fastest, 0)
	begin := s.divide(number["a"], 0)
	first, second := s.divide(number["b"], begin), s.divide(number["c"], begin)
	if first != second || !(first > 0) {
		t.Errorf("of two equal branches the one gets %g s and the other %g", first, second)
	}
}
