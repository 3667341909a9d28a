package faasconf

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/search"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/rng"
)

// What the paper found (§5.2.3).
const (
	paperHybridLatency = -25.58 // %, Fig. 11
	paperHybridCount   = 37.0
	paperFirmHybrid    = 22.08 // % cheaper, Fig. 12
	paperMF            = 11.85 // Fig. 13
	paperMADDPG        = 19.88
	paperDDPG          = 10.84
)

// Fig. 14: by how many percent safe exploration lowers violations, and the price of the best.
var paperSafe = []struct {
	app               string
	violations, price float64
}{{sizing.Branch, 60, 7.34}, {sizing.Sequential, 37.5, 0.88}}

// safeUsers is the number of users of Fig. 14, which the paper does not say.
const safeUsers = 20

// figure11 measures what the limit does: the best configurations of AttMF as they are, and without their limits.
func figure11(r *suite.Report, f *field) error {
	var latency, count [][]float64 // [scenario][fresh window], changes in percent
	for _, a := range f.apps {
		if !slices.Contains(machineLearn, a.name) {
			continue
		}
		for _, u := range f.users {
			l, c, err := unlimited(a, u, f.of(oursName, a.name, u))
			if err != nil {
				return err
			}
			if len(l) > 0 {
				latency, count = append(latency, l), append(count, c)
			}
		}
	}
	if len(latency) == 0 {
		r.Note("Fig. 11 is left out: %s found no feasible configuration", oursName)
		return nil
	}
	note := "AttMF's best configurations with their limits, against the same without; fresh windows"
	r.Measured(suite.Row{Figure: "11", Quantity: "mean latency with the limit, change", Unit: "%",
		Paper: new(paperHybridLatency), Note: note}, stats.Scores{meanOver(latency)})
	r.Measured(suite.Row{Figure: "11", Quantity: "successes with the limit, change", Unit: "%",
		Paper: new(paperHybridCount), Note: note}, stats.Scores{meanOver(count)})
	return nil
}

// unlimited compares the best configurations of a cell with the same ones without a limit: mean changes in percent, by
// fresh window.
func unlimited(a *app, users int, c cell) (latency, count []float64, err error) {
	n := search.Default().Fresh
	x, err := newTotals(a, sizing.Hybrid, users, n)
	if err != nil {
		return nil, nil, err
	}
	y, err := newTotals(a, sizing.Hardware, users, n)
	if err != nil {
		return nil, nil, err
	}
	any := false
	for _, res := range c {
		for i := range res.Repetitions {
			if p := &res.Repetitions[i]; p.Best >= 0 {
				any = true
				err = errors.Join(err, x.add(p.Action), y.add(hardwareOf(p.Action, len(x.env.Functions()))))
			}
		}
	}
	if !any || err != nil {
		return nil, nil, err
	}
	return changes(x.latency, y.latency)[0], changes(x.successes, y.successes)[0], nil
}

// totals are sums over configurations, by fresh window.
type totals struct {
	env                *sizing.Env
	latency, successes []float64
}

func newTotals(a *app, decide string, users, windows int) (*totals, error) {
	e, err := newEnv(a.name, decide, []int{users})
	return &totals{e, make([]float64, windows), make([]float64, windows)}, err
}

// add measures a configuration in each window.
func (t *totals) add(action []float32) error {
	spec := t.env.Spec()
	obs, act, out := envs.NewObservation(spec), envs.NewAction(spec), envs.NewOutcome(spec)
	at, err := search.Places(spec, "latency", "successes")
	if err != nil {
		return err
	}
	key := rng.New(librarySeed, "suite/faasconf/limit")
	for k := range t.latency {
		if err := t.env.Reset(key.With(uint64(k)).Uint64(), nil, obs); err != nil {
			return err
		}
		copy(act.Kinds[0], action)
		if err := t.env.Step(act, obs, out); err != nil {
			return err
		}
		t.latency[k] += out.Info[at["latency"]]
		t.successes[k] += out.Info[at["successes"]]
	}
	return nil
}

// hardwareOf leaves the limits out of a configuration.
func hardwareOf(action []float32, functions int) []float32 {
	var out []float32
	width := len(action) / functions
	for f := range functions {
		out = append(out, action[f*width:f*width+3]...)
	}
	return out
}

// figure12 is Firm with and without the limit on Sequential.
func figure12(r *suite.Report, f *field) {
	if a := f.app(sizing.Sequential); a != nil {
		f.savingRow(r, "12", firmName+withLimit, firmName, paperFirmHybrid, []*app{a}, f.users)
		f.draw(r, "fig12-firm", "Fig. 12: the cheapest configuration of Firm with the limit and without",
			[]string{firmName, firmName + withLimit}, []*app{a})
	} else {
		r.Note("Fig. 12 is left out of a quick run: it is about %s", sizing.Sequential)
	}
}

// figure13 compares what agents see of each other, without safe exploration: with it the library's rows decide, and
// learners that differ serve alike.
func figure13(r *suite.Report, f *field) {
	apps := slices.DeleteFunc(slices.Clone(f.apps), func(a *app) bool { return !slices.Contains(machineLearn, a.name) })
	for _, m := range []struct {
		name  string
		paper float64
	}{{mfName, paperMF}, {maddpgName, paperMADDPG}, {ddpgName, paperDDPG}} {
		f.savingRow(r, "13", boldName, m.name, m.paper, apps, f.users)
	}
	f.draw(r, "fig13-learners", "Fig. 13: the cheapest configuration of what agents see of each other: attention, the mean, "+
		"all agents, one agent for all; without safe exploration", []string{boldName, mfName, maddpgName, ddpgName}, apps)
}

// figure14 compares serving with safe exploration and without.
func figure14(r *suite.Report, f *field) {
	for _, p := range paperSafe {
		a := f.app(p.app)
		if a == nil {
			r.Note("Fig. 14 on %s is left out of a quick run", p.app)
			continue
		}
		with, without := f.of(oursName, a.name, safeUsers), f.of(boldName, a.name, safeUsers)
		x, y := with.missed(), without.missed()
		saved := points(y, x)
		r.Row(suite.Row{Figure: "14", Quantity: fmt.Sprintf("violations saved by safe exploration, %s", a.name), Unit: "%",
			Paper: new(p.violations), Ours: eval.Number(100 * (1 - stats.Mean(pooled(x))/stats.Mean(pooled(y)))),
			Note: fmt.Sprintf("%.1f against %.1f %% of windows; %d users are ours", 100*stats.Mean(pooled(x)), 100*stats.Mean(pooled(y)),
				safeUsers)})
		r.Row(suite.Row{Figure: "14", Quantity: fmt.Sprintf("windows decided by safe exploration, %s", a.name), Unit: "%",
			Ours: eval.Number(100 * stats.Mean(pooled(with.guarded()))), Note: "the policy's price was out of its range"})
		r.Measured(suite.Row{Figure: "14", Quantity: fmt.Sprintf("violations saved, %s", a.name), Unit: "points",
			Note: "of the search's windows"}, saved)
		f.savingRow(r, "14, "+a.name, oursName, boldName, p.price, []*app{a}, []int{safeUsers})
	}
	f.drawServing(r)
}

// points is by how many hundredths shares x are above y, by version and repetition.
func points(x, y [][]float64) stats.Scores {
	out := make(stats.Scores, len(x))
	for v := range x {
		out[v] = lists.Make(len(x[v]), func(rep int) float64 { return 100 * (x[v][rep] - y[v][rep]) })
	}
	return out
}

// drawServing is Fig. 14: price, latency and violations in each window of serving.
func (f *field) drawServing(r *suite.Report) {
	p := newPlot("fig14-serving", fmt.Sprintf("Fig. 14: each of the 15 windows of serving %d users with safe exploration and "+
		"without, means over trainings and repetitions.", safeUsers), "method", "window", "value")
	for _, named := range paperSafe {
		a := f.app(named.app)
		if a == nil {
			continue
		}
		methods := []string{oursName, boldName}
		xs := report.Places(search.Default().Windows)
		for _, q := range []struct {
			title, y string
			value    func(w search.Window) float64
		}{
			{"price", "price (USD/h)", func(w search.Window) float64 { return w.Price }},
			{"latency", "mean latency (s)", func(w search.Window) float64 { return w.Latency }},
		} {
			p.panel(r, a.name+", "+q.title, "window", q.y, methods, xs, func(s, k int) []float64 {
				var out []float64
				for _, res := range f.of(methods[s], a.name, safeUsers) {
					for i := range res.Repetitions {
						out = append(out, q.value(res.Repetitions[i].Windows[k]))
					}
				}
				return out
			})
		}
	}
	if len(p.Chart.Panels) > 0 {
		p.add(r)
	}
}

// app is an application of the field, nil where it is not played.
func (f *field) app(name string) *app {
	if i := slices.IndexFunc(f.apps, func(a *app) bool { return a.name == name }); i >= 0 {
		return f.apps[i]
	}
	return nil
}
