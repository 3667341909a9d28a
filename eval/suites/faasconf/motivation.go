package faasconf

import (
	"context"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
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

// motivation is what Figs. 1 and 3 show, each as [setting][seed].
type motivation struct {
	crowd                      [][]float64 // mean latency by few, without a limit
	meanOff, tailOff, countOff [][]float64 // by users, without a limit
	meanOn, tailOn, countOn    [][]float64 // by users, with it
	grid                       [][]float64 // mean latency by cores × limits, at 20 users
	change                     [][]float64 // max over min of p75, by users × functions
	changed                    []string    // the functions
}

// measureMotivation plays the windows of Figs. 1 and 3.
func measureMotivation(ctx context.Context, o *suite.Options) (*motivation, error) {
	n := len(o.Seeds)
	rows := func(k int) [][]float64 {
		out := make([][]float64, k)
		for i := range out {
			out[i] = make([]float64, n)
		}
		return out
	}
	par, err := newLab(sizing.Parallel)
	if err != nil {
		return nil, err
	}
	m := &motivation{
		crowd: rows(len(few)), meanOff: rows(len(users)), tailOff: rows(len(users)), countOff: rows(len(users)),
		meanOn: rows(len(users)), tailOn: rows(len(users)), countOn: rows(len(users)), grid: rows(len(cores) * len(limits)),
		change: rows(len(users) * par.functions()), changed: par.env.Functions(),
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
		s, err := seq.window(seed, u, seq.all(large))
		if err != nil {
			return err
		}
		m.crowd[k][i] = s.latency
	}
	limited := large
	limited.Concurrency = limit
	for k, u := range users {
		off, err := seq.window(seed, u, seq.all(large))
		if err != nil {
			return err
		}
		on, err := seq.window(seed, u, seq.all(limited))
		if err != nil {
			return err
		}
		m.meanOff[k][i], m.tailOff[k][i], m.countOff[k][i] = off.latency, off.p95, off.successes
		m.meanOn[k][i], m.tailOn[k][i], m.countOn[k][i] = on.latency, on.p95, on.successes
	}
	for a, c := range cores {
		for b, l := range limits {
			s, err := seq.window(seed, 20, seq.all(sizing.Resources{CPU: c, Memory: 2048, Replicas: 3, Concurrency: l}))
			if err != nil {
				return err
			}
			m.grid[a*len(limits)+b][i] = s.latency
		}
	}
	return m.neighbours(seed, i)
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
				s, err := par.window(seed, u, rs)
				if err != nil {
					return err
				}
				if p := s.p75[f]; run == 0 {
					least, most = p, p
				} else {
					least, most = min(least, p), max(most, p)
				}
			}
			m.change[k*n+f][i] = most / max(least, 1e-3)
		}
	}
	return nil
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
func changes(x, y []float64) stats.Scores {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = 100 * (x[i]/y[i] - 1)
	}
	return stats.Scores{out}
}

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
	last := len(few) - 1
	crowd := make([]float64, len(m.crowd[0]))
	for i := range crowd {
		crowd[i] = m.crowd[last][i] / m.crowd[0][i]
	}
	r.Measured(suite.Row{
		Figure: "1a", Quantity: "latency with 30 users over that with 3", Unit: "×", Paper: new(paperCrowd),
		Note: "the paper: one function of its own; here the Sequential workflow",
	}, stats.Scores{crowd})
	for _, q := range []struct {
		what    string
		on, off [][]float64
		paper   float64
	}{
		{"mean latency with a limit of 3, change", m.meanOn, m.meanOff, -paperLimitMean},
		{"p95 latency with a limit of 3, change", m.tailOn, m.tailOff, -paperLimitTail},
		{"successes with a limit of 3, change", m.countOn, m.countOff, paperLimitCount},
	} {
		r.Measured(suite.Row{
			Figure: "1b", Quantity: q.what, Unit: "%", Paper: new(q.paper),
			Note: "Sequential, mean of 10 to 30 users; 3 replicas are ours",
		}, changes(meanOver(q.on), meanOver(q.off)))
	}
	m.best(r)
	m.spread(r)
	m.draw(r)
}

// best is Fig. 3a: which limit is best depends on the CPU.
func (m *motivation) best(r *suite.Report) {
	for a, c := range cores {
		at := m.bestLimit(a)
		least := stats.IQM(m.grid[a*len(limits)+at])
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
		if x := stats.IQM(m.grid[a*len(limits)+b]); b == 0 || x < least {
			at, least = b, x
		}
	}
	return at
}

// extremes are the least and the largest change over functions and users, seed by seed.
func (m *motivation) extremes() (least, most []float64) {
	for i := range m.change[0] {
		var column []float64
		for _, row := range m.change {
			column = append(column, row[i])
		}
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
	fig1.panel(r, "1b Sequential", "users", "mean latency (s)", []string{"no limit", "limit of 3"}, floats(users),
		func(s, k int) []float64 { return [][][]float64{m.meanOff, m.meanOn}[s][k] })
	fig1.add(r)
	var sizes []string
	for _, c := range cores {
		sizes = append(sizes, fmt.Sprintf("%d millicores", c))
	}
	fig3a := newPlot("fig3a-limit-and-cpu", "Fig. 3a: mean latency of the Sequential workflow at 20 users over the "+
		"concurrency limit, for four sizes of an instance.", "instance", "limit", "mean latency [s]")
	fig3a.panel(r, "3a Sequential, 20 users", "concurrency limit", "mean latency (s)", sizes, floats(limits),
		func(s, k int) []float64 { return m.grid[s*len(limits)+k] })
	fig3a.add(r)
	fig3b := newPlot("fig3b-neighbours", "Fig. 3b: largest over smallest p75 of a function of Parallel that keeps its "+
		"configuration while the others are drawn anew 15 times.", "function", "users", "largest over smallest p75")
	fig3b.panel(r, "3b Parallel", "users", "largest over smallest p75", m.changed, floats(users),
		func(s, k int) []float64 { return m.change[k*len(m.changed)+s] })
	fig3b.add(r)
}

func floats(x []int) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

// motivationClaims are those of §2.2. For the limit and the neighbours the rules ask for the direction; the rows have
// the paper's numbers.
var motivationClaims = []suite.Statement[*motivation]{
	{Claim: "latency grows with concurrent users: ×10.1 from 3 to 30", Parts: []suite.Part[*motivation]{
		{Rule: suite.Reaches(paperCrowd), Measure: func(m *motivation, rule suite.Rule) []suite.Finding {
			out := make([]float64, len(m.crowd[0]))
			for i := range out {
				out[i] = m.crowd[len(few)-1][i] / m.crowd[0][i]
			}
			e := interval(out)
			return []suite.Finding{{Text: fmt.Sprintf("× %s", e), Verdict: rule(e)}}
		}},
	}},
	{Claim: "a concurrency limit of 3 lowers mean latency (26.65 %) and p95 (42.77 %) and raises throughput (19.35 %)",
		Parts: []suite.Part[*motivation]{
			{Rule: suite.Under(0), Lead: "mean latency ", Measure: change(func(m *motivation) (a, b [][]float64) {
				return m.meanOn, m.meanOff
			})},
			{Rule: suite.Under(0), Lead: "; p95 ", Measure: change(func(m *motivation) (a, b [][]float64) {
				return m.tailOn, m.tailOff
			})},
			{Rule: suite.Over(0), Lead: "; successes ", Measure: change(func(m *motivation) (a, b [][]float64) {
				return m.countOn, m.countOff
			})},
		}},
	{Claim: "the best concurrency limit depends on the hardware", Parts: []suite.Part[*motivation]{
		{Measure: func(m *motivation, _ suite.Rule) []suite.Finding {
			var best []int
			differ := false
			for a := range cores {
				at := m.bestLimit(a)
				best = append(best, limits[at])
				differ = differ || best[a] != best[0]
			}
			return []suite.Finding{{Text: fmt.Sprintf("best limits at %v millicores: %v", cores, best),
				Verdict: suite.If(differ)}}
		}},
	}},
	{Claim: "others' configurations change a function's p75 by 1.5 to 8.5 times", Parts: []suite.Part[*motivation]{
		{Rule: suite.Over(1), Measure: func(m *motivation, rule suite.Rule) []suite.Finding {
			least, most := m.extremes()
			a, b := interval(least), interval(most)
			return []suite.Finding{{Text: fmt.Sprintf("by %s to %s times", a, b), Verdict: rule(a)}}
		}},
	}},
}

// tuningClaims are those of Fig. 2.
var tuningClaims = []suite.Statement[*tuning]{
	{Claim: "tuning each function by itself does not keep the workflow's QoS", Parts: []suite.Part[*tuning]{
		{Measure: func(t *tuning, _ suite.Rule) []suite.Finding {
			kept := 100 * stats.Mean(t.kept[0])
			return []suite.Finding{{Text: fmt.Sprintf("kept in %.3g %% of fresh windows", kept), Verdict: suite.If(kept < 50)}}
		}},
	}},
	{Claim: "holistic tuning is 29.34 % cheaper than tuning one function after another", Parts: []suite.Part[*tuning]{
		{Rule: suite.Over(0), Measure: func(t *tuning, rule suite.Rule) []suite.Finding {
			e := estimate(t.saved())
			return []suite.Finding{{Text: fmt.Sprintf("%s %%", e), Verdict: rule(e)}}
		}},
	}},
}

// interval is the interquartile mean over seeds with its 95 % interval.
func interval(x []float64) report.Estimate { return estimate(stats.Scores{x}) }

// change measures the change of x against y, in percent.
func change(of func(*motivation) (x, y [][]float64)) func(*motivation, suite.Rule) []suite.Finding {
	return func(m *motivation, rule suite.Rule) []suite.Finding {
		x, y := of(m)
		e := estimate(changes(meanOver(x), meanOver(y)))
		return []suite.Finding{{Text: fmt.Sprintf("%s %%", e), Verdict: rule(e)}}
	}
}
