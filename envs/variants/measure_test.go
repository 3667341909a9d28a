package variants_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// poisson is a load of Poisson arrivals.
func poisson(t testing.TB, rate float64, minutes int) *workload.Source {
	t.Helper()
	c := workload.Default()
	c.Kind, c.Rate, c.Length = workload.Poisson, rate, minutes
	s := must.Get(workload.Open(c))(t)
	return s
}

func measurer(t testing.TB, m *variants.Model, p variants.Platform, s *workload.Source) *variants.Measurer {
	t.Helper()
	x := must.Get(variants.NewMeasurer(m, p, s))(t)
	return x
}

func measure(t testing.TB, x *variants.Measurer, choice []int, p variants.Period) variants.Measured {
	t.Helper()
	m := must.Get(x.Measure(choice, p))(t)
	return m
}

// warm has no cold starts.
func warm() variants.Platform { return variants.Platform{KeepAlive: 60} }

// middle chooses the middle option of every function.
func middle(m *variants.Model) []int {
	out := make([]int, m.NumFunctions())
	for f := range out {
		out[f] = len(m.Options[f]) / 2
	}
	return out
}

func within(t *testing.T, what string, i variants.Interval, want, precision float64) {
	t.Helper()
	// Three half widths: about one in 400 would miss.
	if half := (i.Hi - i.Lo) / 2; math.Abs(i.Value-want) > 1.5*half+1e-6*want || half > precision*want {
		t.Errorf("%s is %g, %g to %g, want %g and ± %g %%", what, i.Value, i.Lo, i.Hi, want, 100*precision)
	}
}

// Without cold starts and with times that do not vary, what is measured is what the model computes: response time and
// cost of all six applications, under every orchestration.
func TestMeasuredIsModelled(t *testing.T) {
	for _, name := range variants.Presets() {
		for _, o := range bill.Orchestrations() {
			a := app(t, name)
			a.Orchestration = o
			m := compile(t, a)
			choice := middle(m)
			want := m.Evaluate(choice)
			got := measure(t, measurer(t, m, warm(), poisson(t, 2, 60)), choice, variants.Period{Seed: 1, Minutes: 60})
			within(t, name+": mean", got.Mean, want.Seconds, 0.05)
			if o != bill.Express { // the model prices the mean time there
				within(t, name+": USD", got.USD, want.USD, 0.05)
			}
			if got.Accuracy != want.Accuracy || got.ColdRuns == 0 || got.Idle != 0 {
				t.Errorf("%s: %+v, want the accuracy %g, runs in new instances, and no price of idling", name, got, want.Accuracy)
			}
			if math.Abs(got.Functions+got.Orchestration-got.USD.Value) > 1e-9*got.USD.Value {
				t.Errorf("%s: %g and %g do not add up to %g", name, got.Functions, got.Orchestration, got.USD.Value)
			}
		}
	}
}

// tiny is an application of one function whose runs take a millisecond.
func tiny(t *testing.T) *variants.Model {
	t.Helper()
	return compile(t, variants.App{
		Name: "tiny", Workflow: workflow.Graph{Name: "tiny", Nodes: []workflow.Node{{Name: "f"}}},
		Tariff: variants.Lambda,
		Functions: []variants.Function{{Name: "f", Memory: variants.Sizes(1024, 2048), Variants: []variants.Variant{{
			Law: variants.Law{Form: memory.Table, MB: []float64{1024, 2048}, Seconds: []float64{0.001, 0.001}},
		}}}},
	})
}

// With Poisson arrivals at rate λ and runs far shorter than the gaps, a request is cold where none came within the
// keep-alive T before: in exp(-λT) of the cases. What a cold start adds to the mean, the tail and the bill follows.
func TestColdStarts(t *testing.T) {
	const rate, keep, cold, minutes = 0.05, 30.0, 0.4, 12_000
	m := tiny(t)
	p := variants.Platform{ColdStart: cold, KeepAlive: keep}
	load := poisson(t, rate, minutes)
	period := variants.Period{Seed: 2, Warmup: 10, Minutes: minutes - 10}
	got := measure(t, measurer(t, m, p, load), []int{0}, period)
	share := math.Exp(-rate * keep)
	if math.Abs(got.ColdRuns-share) > 0.01 || got.ColdRequests != got.ColdRuns {
		t.Errorf("%.4f of the runs and %.4f of the requests are cold, want exp(-%g) = %.4f", got.ColdRuns, got.ColdRequests,
			rate*keep, share)
	}
	within(t, "mean", got.Mean, 0.001+got.ColdRuns*cold, 0.05)
	within(t, "p95", got.P95, 0.001+cold, 0.01)
	within(t, "p50", got.P50, 0.001, 0.01)
	if want := 1e6 * bill.Lambda().Run(1024, 0.001); math.Abs(got.USD.Value-want) > 1e-9*want {
		t.Errorf("%g USD a million, want %g: cold starts are not billed", got.USD.Value, want)
	}
	p.BillCold = true
	billed := measure(t, measurer(t, m, p, load), []int{0}, period)
	want := 1e6 * ((1-got.ColdRuns)*bill.Lambda().Run(1024, 0.001) + got.ColdRuns*bill.Lambda().Run(1024, 0.001+cold))
	if billed.Mean != got.Mean || math.Abs(billed.USD.Value-want) > 1e-9*want {
		t.Errorf("%g USD a million with cold starts billed, want %g and the same times", billed.USD.Value, want)
	}
	// Two instances that are always kept: nothing is cold, and what they idle is paid.
	p.Prewarmed, p.IdleGBSecond, p.BillCold = 2, 4.1667e-6, false
	kept := measure(t, measurer(t, m, p, load), []int{1}, period)
	idle := 2 * 2 * 4.1667e-6 * 60 * period.Minutes / float64(kept.Requests) * 1e6
	if kept.ColdRuns > 1e-4 || math.Abs(kept.Idle-idle) > 1e-3*idle || math.Abs(kept.Instances-2) > 1e-3 {
		t.Errorf("%+v with two instances kept, want an idle price of %g", kept, idle)
	}
	if kept.Requests != got.Requests {
		t.Errorf("%d requests under one choice, %d under the other: arrivals are not paired", kept.Requests, got.Requests)
	}
}

// The intervals of many seeds hold what the model computes as often as they say, or nearly: sections depend a little on
// each other.
func TestIntervals(t *testing.T) {
	a := app(t, "app6")
	m := compile(t, a)
	choice := middle(m)
	want := m.Evaluate(choice)
	x := measurer(t, m, warm(), poisson(t, 0.5, 30))
	hit, hitUSD := 0, 0
	const n = 120
	for seed := range uint64(n) {
		got := measure(t, x, choice, variants.Period{Seed: seed, Minutes: 30})
		if got.Mean.Lo <= want.Seconds && want.Seconds <= got.Mean.Hi {
			hit++
		}
		if got.USD.Lo <= want.USD && want.USD <= got.USD.Hi {
			hitUSD++
		}
	}
	if hit < 107 || hitUSD < 107 {
		t.Errorf("%d and %d of %d intervals hold the mean time and the cost, want about 114", hit, hitUSD, n)
	}
}

// A measurement depends on choice and period alone, not on what was measured before; it takes other draws under another
// seed; the same variants again allocate nothing.
func TestMeasurer(t *testing.T) {
	m := compile(t, app(t, "app4"))
	p := variants.DefaultPlatform()
	p.StartRate = 50
	load := poisson(t, 0.2, 60)
	x, y := measurer(t, m, p, load), measurer(t, m, p, load)
	low, high := make([]int, 4), middle(m)
	period := variants.Period{Seed: 3, Start: 10, Warmup: 5, Minutes: 30}
	first := measure(t, x, high, period)
	measure(t, x, low, period)
	other := period
	other.Seed = 4
	if measure(t, x, high, other) == first {
		t.Error("two seeds give the same")
	}
	if again, fresh := measure(t, x, high, period), measure(t, y, high, period); again != first || fresh != first {
		t.Errorf("%+v, then %+v, and %+v of a new measurer", first, again, fresh)
	}
	if cold, model := first.Mean.Value, m.Evaluate(high).Seconds; !(cold > model) || first.ColdRequests == 0 {
		t.Errorf("a mean of %g s with cold starts in %g of the requests, %g s without", cold, first.ColdRequests, model)
	}
	if n := testing.AllocsPerRun(3, func() { measure(t, x, high, period) }); n > 0 {
		t.Errorf("a measurement allocates %g times", n)
	}
}

// A fixed function takes its time on no instance: it is never cold, takes no turn in the line of starts, and is free.
func TestMeasuredFixed(t *testing.T) {
	m := compile(t, variants.App{
		Name: "waits", Workflow: workflow.New("waits", workflow.Chain("f", "wait")), Tariff: variants.Lambda,
		Orchestration: bill.Standard,
		Functions: []variants.Function{
			{Name: "f", Memory: variants.Sizes(1024), Variants: []variants.Variant{{
				Law: variants.Law{Form: memory.Table, MB: []float64{1024}, Seconds: []float64{0.1}},
			}}},
			{Name: "wait", Fixed: true, Seconds: 5},
		},
	})
	p := variants.Platform{ColdStart: 1, KeepAlive: 0.1, StartRate: 1000}
	got := measure(t, measurer(t, m, p, poisson(t, 0.1, 600)), []int{0, 0}, variants.Period{Seed: 1, Minutes: 600})
	within(t, "mean", got.Mean, 5.1+got.ColdRuns*(1+0.001), 0.01)
	want := 1e6*bill.Lambda().Run(1024, 0.1) + 2*25
	if got.ColdRuns < 0.9 || got.ColdRequests != got.ColdRuns || math.Abs(got.USD.Value-want) > 1e-9*want {
		t.Errorf("%+v, want nearly all runs cold and %g USD a million", got, want)
	}
}

func TestMeasureWrong(t *testing.T) {
	m := tiny(t)
	load := poisson(t, 1, 10)
	for want, p := range map[string]variants.Platform{
		"platform: keep_alive is 0":      {},
		"platform: cold_start is -1":     {KeepAlive: 1, ColdStart: -1},
		"platform: start_rate is 1e-06":  {KeepAlive: 1, StartRate: 1e-6},
		"platform: bill_cold is true be": {KeepAlive: 1, StartRate: 1, BillCold: true},
	} {
		if _, err := variants.NewMeasurer(m, p, load); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	x := measurer(t, m, warm(), load)
	for want, c := range map[string]struct {
		choice []int
		p      variants.Period
	}{
		"a choice for 2 functions": {[]int{0, 0}, variants.Period{Minutes: 1}},
		"option 7 of function f":   {[]int{7}, variants.Period{Minutes: 1}},
		"minutes are 0":            {[]int{0}, variants.Period{}},
		"end at minute 11":         {[]int{0}, variants.Period{Start: 1, Minutes: 10}},
		"start is minute -1":       {[]int{0}, variants.Period{Start: -1, Minutes: 1}},
		"no request began":         {[]int{0}, variants.Period{Minutes: 1e-5}},
	} {
		if _, err := x.Measure(c.choice, c.p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	users := workload.Default()
	users.Kind = workload.ClosedLoop
	s := must.Get(workload.Open(users))(t)
	if _, err := variants.NewMeasurer(m, warm(), s); err == nil || !strings.Contains(err.Error(), "closed-loop") {
		t.Errorf("closed-loop users: %v", err)
	}
}

// The plan that is found keeps the percentile as measured, where the mean model's own plan misses it. What cannot be kept
// is said.
func TestSolveMeasured(t *testing.T) {
	m := compile(t, app(t, "app4"))
	x := measurer(t, m, variants.DefaultPlatform(), poisson(t, 0.02, 500))
	d := variants.Period{Seed: 7, Minutes: 500}
	p := variants.Problem{Objective: variants.Cost, Latency: 12, Percentile: 95}
	plan, got, err := x.Solve(context.Background(), p, d)
	must.Do(t, err)
	if again := measure(t, x, plan.Choice, d); again != got || got.P95.Value > 12 {
		t.Errorf("%+v, measured again %+v, want a p95 within 12 s", got, again)
	}
	mean := must.Get(m.Solve(context.Background(), variants.Problem{Objective: variants.Cost, Latency: 12}))(t)
	if naive := measure(t, x, mean.Choice, d); !(naive.P95.Value > 12) || !(plan.USD > mean.USD) {
		t.Errorf("the mean model's plan has a p95 of %g s at %g USD, this one %g s at %g", naive.P95.Value, mean.USD,
			got.P95.Value, plan.USD)
	}
	for want, p := range map[string]variants.Problem{
		"the fastest plan takes": {Objective: variants.Cost, Latency: 0.1, Percentile: 95},
		"want 50, 95 or 99":      {Objective: variants.Cost, Latency: 10, Percentile: 80},
		"objective is time":      {Objective: variants.Time, Latency: 10},
		"latency of 0 s":         {Objective: variants.Cost},
		"nothing has":            {Objective: variants.Cost, Latency: 10, Accuracy: 2},
	} {
		if _, _, err := x.Solve(context.Background(), p, d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one with %q", p, err, want)
		}
	}
}

// With times that vary, what is measured without cold starts has the computed distribution of the response time: mean and
// percentiles of two applications, one with loops and branches, one with a join.
func TestMeasuredDistribution(t *testing.T) {
	for _, name := range []string{"app3", "app4"} {
		a := app(t, name)
		for f := range a.Functions {
			for v := range a.Functions[f].Variants {
				a.Functions[f].Variants[v].CV = 0.4
			}
		}
		m := compile(t, a)
		choice := middle(m)
		var laws []workflow.Law
		for n := range m.Flow.NumNodes() {
			f := m.Flow.Function(n)
			o := m.Options[f][choice[f]]
			laws = append(laws, bill.Lognormal{M: o.Seconds, CV: o.CV})
		}
		want := must.Get(m.Flow.Distribution(laws, m.Delays, workflow.Grid{Points: 1 << 14}))(t)
		got := measure(t, measurer(t, m, warm(), poisson(t, 2, 150)), choice, variants.Period{Seed: 3, Minutes: 150})
		within(t, name+": mean", got.Mean, want.Mean, 0.05)
		within(t, name+": p50", got.P50, want.P50, 0.05)
		within(t, name+": p95", got.P95, want.P95, 0.05)
		within(t, name+": p99", got.P99, want.P99, 0.1)
		within(t, name+": USD", got.USD, m.Evaluate(choice).USD, 0.05)
	}
}
