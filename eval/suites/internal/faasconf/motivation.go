package faasconf

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/rng"
)

// What the paper measured on its testbed (§2.2).
const (
	paperCrowd      = 10.1  // times the latency, from 3 to 30 users
	paperLimitMean  = 26.65 // % lower with a limit of 3
	paperLimitTail  = 42.77
	paperLimitCount = 19.35 // % more
	paperLeastPCR   = 1.5   // times, over functions and users
	paperMostPCR    = 8.5
)

// The configurations of Figs. 1 and 3. The paper gives 2 cores and 2 GB for each replica and a limit of 3, but not the
// number of replicas. With 3 of them the range's highest limit, 10, holds all 30 users, so that it limits nothing.
var (
	few       = []int{3, 5, 10, 15, 20, 25, 30}
	users     = []int{10, 15, 20, 25, 30}
	large     = sizing.Resources{CPU: 2000, Memory: 2048, Replicas: 3, Concurrency: 10}
	cores     = []int{500, 1000, 1500, 2000}
	limits    = []int{1, 2, 3, 4, 6, 8, 10}
	reconfigs = 15
)

const limit = 3

// motivation is what Figs. 1 and 3 show.
type motivation struct {
	crowd   *report.Cube[float64] // mean latency by few, without a limit
	limited *report.Cube[seen]    // by users, without a limit and with it
	grid    *report.Cube[float64] // mean latency by cores and limits, at 20 users
	change  *report.Cube[float64] // max over min of p75, by users and functions
	changed []string              // the functions
}

// Quantities of a window.
func mean(s *seen) float64  { return s.latency }
func tail(s *seen) float64  { return s.p95 }
func count(s *seen) float64 { return s.successes }

// effect is what the limit changes of a quantity, the mean over users, in percent by seed.
func (m *motivation) effect(of func(*seen) float64) stats.Scores {
	over := func(with int) []float64 {
		return meanOver(lists.Make(len(users), func(k int) []float64 { return m.limited.Of(of, k, with) }))
	}
	return changes(over(1), over(0))
}

// crowded is the latency with the most users over that with the fewest, by seed.
func (m *motivation) crowded() []float64 { return report.Ratio(m.crowd.At(len(few)-1), m.crowd.At(0)) }

// measureMotivation plays the windows of Figs. 1 and 3.
func measureMotivation(ctx context.Context, o *suite.Options) (*motivation, error) {
	n := len(o.Seeds)
	par, err := newLab(sizing.Parallel)
	if err != nil {
		return nil, err
	}
	byUsers := report.Axis{Name: "users", Len: len(users)}
	m := &motivation{
		crowd:   report.NewCube[float64](n, report.Axis{Name: "few users", Len: len(few)}),
		limited: report.NewCube[seen](n, byUsers, report.Axis{Name: "limit of 3", Len: 2}),
		grid:    report.NewCube[float64](n, report.Axis{Name: "cores", Len: len(cores)}, report.Axis{Name: "limit", Len: len(limits)}),
		change:  report.NewCube[float64](n, byUsers, report.Axis{Name: "function", Len: par.functions()}), changed: par.env.Functions(),
	}
	return m, o.Each(ctx, "Figs. 1 and 3", n, func(i int) error { return m.measure(o.Seeds[i], i) })
}

// measure fills in one seed.
func (m *motivation) measure(seed uint64, i int) error {
	seq, err := newLab(sizing.Sequential)
	if err != nil {
		return err
	}
	for k, u := range few {
		m.crowd.At(k)[i] = seq.window(seed, u, seq.all(large)).latency
	}
	limited := large
	limited.Concurrency = limit
	for k, u := range users {
		for with, r := range []sizing.Resources{large, limited} {
			m.limited.At(k, with)[i] = seq.window(seed, u, seq.all(r))
		}
	}
	for a, c := range cores {
		for b, l := range limits {
			one := sizing.Resources{CPU: c, Memory: 2048, Replicas: 3, Concurrency: l}
			m.grid.At(a, b)[i] = seq.window(seed, 20, seq.all(one)).latency
		}
	}
	return errors.Join(seq.err, m.neighbours(seed, i))
}

// neighbours is Fig. 3b: a function keeps its configuration, the middle of the ranges, while all others are drawn anew
// 15 times; the change is its largest p75 over its smallest.
func (m *motivation) neighbours(seed uint64, i int) error {
	par, err := newLab(sizing.Parallel)
	if err != nil {
		return err
	}
	n := par.functions()
	middle := par.rng.Decode([]float32{0.5, 0.5, 0.5, 0.5})
	draws := rng.NewStream(seed, "suite/faasconf/neighbours")
	for k, u := range users {
		for f := range n {
			var least, most float64
			for run := range reconfigs {
				rs := par.random(draws)
				rs[f] = middle
				if p := par.window(seed, u, rs).p75[f]; run == 0 {
					least, most = p, p
				} else {
					least, most = min(least, p), max(most, p)
				}
			}
			m.change.At(k, f)[i] = most / max(least, 1e-3)
		}
	}
	return par.err
}

// random draws a configuration that the machines can hold.
func (l *lab) random(s *rng.Stream) []sizing.Resources {
	out := make([]sizing.Resources, l.functions())
	for {
		for f := range out {
			var a [4]float32
			for i := range a {
				a[i] = float32(s.Float64())
			}
			out[f] = l.rng.Decode(a[:l.rng.Components()])
		}
		if l.env.Fits(out) {
			return out
		}
	}
}

// changes are x over y, seed by seed, as a change in percent.
func changes(x, y []float64) stats.Scores { return stats.Scores{report.Change(x, y)} }

// meanOver averages settings, seed by seed.
func meanOver(rows [][]float64) []float64 {
	out := make([]float64, len(rows[0]))
	for i := range out {
		for _, r := range rows {
			out[i] += r[i] / float64(len(rows))
		}
	}
	return out
}

func (m *motivation) report(r *suite.Report) {
	r.Measured(suite.Row{
		Figure: "1a", Quantity: "latency with 30 users over that with 3", Unit: "×", Paper: new(paperCrowd),
		Note: "the paper: one function of its own; here the Sequential workflow",
	}, stats.Scores{m.crowded()})
	for _, q := range []struct {
		what  string
		of    func(*seen) float64
		paper float64
	}{
		{"mean latency with a limit of 3, change", mean, -paperLimitMean},
		{"p95 latency with a limit of 3, change", tail, -paperLimitTail},
		{"successes with a limit of 3, change", count, paperLimitCount},
	} {
		r.Measured(suite.Row{
			Figure: "1b", Quantity: q.what, Unit: "%", Paper: new(q.paper),
			Note: "Sequential, mean of 10 to 30 users; 3 replicas are ours",
		}, m.effect(q.of))
	}
	m.best(r)
	m.spread(r)
	m.draw(r)
}

// best is Fig. 3a: which limit is best depends on the CPU.
func (m *motivation) best(r *suite.Report) {
	for a, c := range cores {
		at := m.bestLimit(a)
		least := stats.IQM(m.grid.At(a, at))
		r.Row(suite.Row{
			Figure: "3a", Quantity: fmt.Sprintf("best concurrency limit at %d millicores", c), Unit: "requests",
			Ours: eval.Number(limits[at]), Note: fmt.Sprintf("latency there %.1f s; 20 users, Sequential", least),
		})
	}
}

// bestLimit is the place of the limit with the least latency at the a-th number of cores.
func (m *motivation) bestLimit(a int) int {
	at, least := 0, 0.0
	for b := range limits {
		if x := stats.IQM(m.grid.At(a, b)); b == 0 || x < least {
			at, least = b, x
		}
	}
	return at
}

// extremes are the least and the largest change over functions and users, seed by seed.
func (m *motivation) extremes() (least, most []float64) {
	for i := range m.change.Seeds() {
		column := m.change.Seed(i)
		least, most = append(least, slices.Min(column)), append(most, slices.Max(column))
	}
	return least, most
}

// spread is Fig. 3b's range.
func (m *motivation) spread(r *suite.Report) {
	least, most := m.extremes()
	r.Measured(suite.Row{Figure: "3b", Quantity: "performance change rate, least", Unit: "×", Paper: new(paperLeastPCR),
		Note: "over functions and users, Parallel"}, stats.Scores{least})
	r.Measured(suite.Row{Figure: "3b", Quantity: "performance change rate, most", Unit: "×", Paper: new(paperMostPCR),
		Note: "over functions and users, Parallel"}, stats.Scores{most})
}

func (m *motivation) draw(r *suite.Report) {
	fig1 := newPlot("fig1-users-and-limit", "Fig. 1: mean latency of the Sequential workflow over closed-loop users, "+
		"3 replicas of 2 cores each, with and without a concurrency limit of 3.", "limit", "users", "mean latency [s]")
	fig1.panel(r, "1b Sequential", "users", "mean latency (s)", []string{"no limit", "limit of 3"}, report.Floats(users),
		func(s, k int) []float64 { return m.limited.Of(mean, k, s) })
	fig1.add(r)
	sizes := lists.From(cores, func(c int) string { return fmt.Sprintf("%d millicores", c) })
	fig3a := newPlot("fig3a-limit-and-cpu", "Fig. 3a: mean latency of the Sequential workflow at 20 users over the "+
		"concurrency limit, for four sizes of an instance.", "instance", "limit", "mean latency [s]")
	fig3a.panel(r, "3a Sequential, 20 users", "concurrency limit", "mean latency (s)", sizes, report.Floats(limits),
		func(s, k int) []float64 { return m.grid.At(s, k) })
	fig3a.add(r)
	fig3b := newPlot("fig3b-neighbours", "Fig. 3b: largest over smallest p75 of a function of Parallel that keeps its "+
		"configuration while the others are drawn anew 15 times.", "function", "users", "largest over smallest p75")
	fig3b.panel(r, "3b Parallel", "users", "largest over smallest p75", m.changed, report.Floats(users),
		func(s, k int) []float64 { return m.change.At(k, s) })
	fig3b.add(r)
}

// motivationClaims are those of §2.2. For the limit and the neighbours the rules ask for the direction; the rows have
// the paper's numbers.
var motivationClaims = []suite.Statement[*motivation]{
	suite.Says("latency grows with concurrent users: ×10.1 from 3 to 30",
		suite.Reaches(paperCrowd), func(m *motivation, rule suite.Rule) []suite.Finding {
			e := interval(m.crowded())
			return []suite.Finding{suite.Found(rule(e), "× %s", e)}
		}),
	{Claim: "a concurrency limit of 3 lowers mean latency (26.65 %) and p95 (42.77 %) and raises throughput (19.35 %)",
		Parts: []suite.Part[*motivation]{
			{Rule: suite.Under(0), Lead: "mean latency ", Measure: effect(mean)},
			{Rule: suite.Under(0), Lead: "; p95 ", Measure: effect(tail)},
			{Rule: suite.Over(0), Lead: "; successes ", Measure: effect(count)},
		}},
	suite.Says("the best concurrency limit depends on the hardware",
		nil, func(m *motivation, _ suite.Rule) []suite.Finding {
			var best []int
			differ := false
			for a := range cores {
				at := m.bestLimit(a)
				best = append(best, limits[at])
				differ = differ || best[a] != best[0]
			}
			return []suite.Finding{suite.Found(suite.If(differ), "best limits at %v millicores: %v", cores, best)}
		}),
	suite.Says("others' configurations change a function's p75 by 1.5 to 8.5 times",
		suite.Over(1), func(m *motivation, rule suite.Rule) []suite.Finding {
			least, most := m.extremes()
			a, b := interval(least), interval(most)
			return []suite.Finding{suite.Found(rule(a), "by %s to %s times", a, b)}
		}),
}

// tuningClaims are those of Fig. 2.
var tuningClaims = []suite.Statement[*tuning]{
	suite.Says("tuning each function by itself does not keep the workflow's QoS",
		nil, func(t *tuning, _ suite.Rule) []suite.Finding {
			kept := 100 * stats.Mean(t.kept.At(0))
			return []suite.Finding{suite.Found(suite.If(kept < 50), "kept in %.3g %% of fresh windows", kept)}
		}),
	suite.Says("holistic tuning is 29.34 % cheaper than tuning one function after another",
		suite.Over(0), func(t *tuning, rule suite.Rule) []suite.Finding {
			e := estimate(t.saved())
			return []suite.Finding{suite.Found(rule(e), "%s %%", e)}
		}),
}

// interval is the interquartile mean over seeds with its 95 % interval.
func interval(x []float64) report.Estimate { return estimate(stats.Scores{x}) }

// effect measures what the limit changes of a quantity, in percent.
func effect(of func(*seen) float64) func(*motivation, suite.Rule) []suite.Finding {
	return func(m *motivation, rule suite.Rule) []suite.Finding {
		e := estimate(m.effect(of))
		return []suite.Finding{suite.Found(rule(e), "%s %%", e)}
	}
}
