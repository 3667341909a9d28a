package eval

import (
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/internal/words"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/rng"
)

const (
	// profiled is the number of metrics that get profiles, the foremost first.
	profiled = 4
	// profilePoints is the number of thresholds, profileResamples that of bootstrap resamples (rliable's).
	profilePoints    = 101
	profileResamples = 2000
)

// profile draws the performance profiles of the foremost metrics: the share of episodes that do better than a
// threshold.
func (p *painter) profile() {
	t := p.read(ScoresFile)
	if t == nil {
		return
	}
	rows := [][]string{{"policy", "metric", "threshold", "share_better", "lo", "hi"}}
	f := chart.Figure{
		Title:   "Performance profiles: share of episodes better than x; " + p.bandsAre(),
		Key:     p.key(chart.Entry{Line: true, Band: true}),
		Columns: 2, Width: onePanel / 2, Height: panelHeight * 2 / 3,
	}
	for _, m := range p.s.Metrics {
		if m.Better == envs.Neither || len(f.Panels) == profiled {
			continue
		}
		panel := chart.NewPanel("", m.arrowed(), "share of episodes")
		panel.TicksX(4)
		panel.TicksY(5)
		panel.RangeY(0, 1)
		scores := lists.From(p.s.Policies, func(pol PolicyResult) stats.Scores { return scoresOf(t, pol.Name, m) })
		x, tau := thresholds(scores, m)
		for i, pol := range p.s.Policies {
			if len(scores[i]) == 0 || len(tau) == 0 {
				continue
			}
			key := rng.New(1, "profile").With(uint64(i)).With(uint64(len(f.Panels)))
			share := stats.ProfileInterval(scores[i], tau, profileResamples, key.Stream())
			all := make([]report.Estimate, len(x))
			if p.s.few(pol.Name) {
				stats.OverSeeds(scores[i], tau, share)
			}
			for k, iv := range share {
				all[k] = report.Of(iv)
				rows = append(rows, report.Cells(pol.Name, m.Name, x[k], all[k]))
			}
			report.Line(panel, p.styles[i], x, all)
		}
		level(&f, p.s.Plots.Levels, m, panel.LevelX)
		f.Panels = append(f.Panels, panel)
	}
	if len(f.Panels) == 0 {
		return
	}
	if len(f.Panels) == 1 {
		f.Width, f.Height = onePanel, panelHeight
	}
	p.data("profile", rows)
	p.finish(&f, "profile")
}

// scores are a policy's values of a metric as upward scores: negated where lower is better.
func scoresOf(t *report.File, policy string, m Metric) stats.Scores {
	var out stats.Scores
	var seeds []string
	for _, r := range t.Rows {
		if t.Text(r, "policy") != policy || t.Text(r, "metric") != m.Name {
			continue
		}
		x := t.Number(r, "value")
		if m.Better == envs.Lower {
			x = -x
		}
		seed := t.Text(r, "training_seed")
		i := slices.Index(seeds, seed)
		if i < 0 {
			i, seeds, out = len(seeds), append(seeds, seed), append(out, nil)
		}
		out[i] = append(out[i], x)
	}
	return out
}

// thresholds spans all finite scores: x as the metric has them, tau as upward scores.
func thresholds(scores []stats.Scores, m Metric) (x, tau []float64) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, s := range scores {
		for _, v := range s.Flat() {
			if report.Finite(v) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	if lo > hi {
		return nil, nil
	}
	for k := range profilePoints {
		v := lo + (hi-lo)*float64(k)/(profilePoints-1)
		tau = append(tau, v)
		if m.Better == envs.Lower {
			v = -v
		}
		x = append(x, v)
	}
	return x, tau
}

// distributions draws the distribution of each quantity that the environment samples, such as latency.
func (p *painter) distributions() {
	t := p.read(samplesFile)
	if t == nil {
		return
	}
	for _, q := range lists.Distinct(lists.From(t.Rows, func(r []string) string { return t.Text(r, "quantity") })) {
		p.distribution(t, q)
	}
}

func (p *painter) distribution(t *report.File, q string) {
	x, y := make([][]float64, len(p.s.Policies)), make([][]float64, len(p.s.Policies))
	var all []float64
	unit := ""
	for _, r := range t.Rows {
		if t.Text(r, "quantity") != q {
			continue
		}
		if i := slices.Index(p.s.names(), t.Text(r, "policy")); i >= 0 {
			unit = t.Text(r, "unit")
			x[i], y[i] = append(x[i], t.Number(r, "value")), append(y[i], t.Number(r, "share_below"))
			all = append(all, t.Number(r, "value"))
		}
	}
	cdf, rest := chart.NewPanel("share of samples up to x", words.Label(q, unit), "share"),
		chart.NewPanel("share of samples above x", words.Label(q, unit), "share")
	cdf.RangeY(0, 1)
	rest.LogY()
	for _, panel := range []*chart.Panel{cdf, rest} {
		if panel.TicksX(4); longTailed(all) {
			panel.LogX()
		}
	}
	for i := range x {
		cdf.Line(p.styles[i], x[i], y[i], false)
		above := make([]float64, len(y[i]))
		for k, share := range y[i] {
			above[k] = 1 - share // the largest sample has none above it: not on a logarithmic axis
		}
		rest.Line(p.styles[i], x[i], above, false)
	}
	f := chart.Figure{
		Title: "Distribution of " + words.Of(q), Key: p.key(chart.Entry{Line: true}),
		Panels: []*chart.Panel{cdf, rest}, Columns: 2, Width: onePanel / 2, Height: panelHeight * 4 / 5,
	}
	p.finish(&f, fileName(q)+"_cdf")
}

// longTailed reports whether a logarithmic axis shows values better: all positive, and the largest far from the middle.
func longTailed(x []float64) bool {
	s := slices.Sorted(slices.Values(x))
	return len(s) > 0 && s[0] > 0 && s[len(s)-1] > 10*stats.Quantile(s, 0.5)
}

// series draws quantities over time, of the first traced seed, a panel each.
func (p *painter) series() {
	t := p.read(stepsFile)
	if t == nil || len(p.s.Plots.Series) == 0 {
		return
	}
	seed := t.Text(t.Rows[0], "workload_seed")
	at, unit := clock(t, seed)
	f := chart.Figure{
		Title: "One episode, workload seed " + seed, Key: p.key(chart.Entry{Line: true}),
		Columns: 1 + len(p.s.Plots.Series)/5, Width: onePanel, Height: lowPanel,
	}
	if f.Columns > 1 {
		f.Width = onePanel * 2 / 3
	}
	common := false
	for k, m := range p.s.Plots.Series {
		xlabel := ""
		if k >= len(p.s.Plots.Series)-f.Columns {
			xlabel = unit
		}
		if m.Name == ReturnMetric.Name {
			m.Name, m.Unit = rewardColumn, ""
		}
		panel := chart.NewPanel(m.label(), xlabel, "")
		panel.TicksY(4)
		if unit == stepAxis {
			panel.WholeX()
		}
		same := p.drawSeries(panel, t, seed, m, at)
		common = common || same
		level(&f, p.s.Plots.Levels, m, panel.LevelY)
		f.Panels = append(f.Panels, panel)
	}
	if common {
		f.Key = append(f.Key, chart.Entry{Text: "all alike", Style: chart.Common(), Line: true})
	}
	if len(f.Panels) == 1 {
		f.Height = panelHeight
	}
	p.finish(&f, "over_time")
}

// drawSeries draws a quantity of every policy, or one line where all are alike, as the load is, and says which.
func (p *painter) drawSeries(panel *chart.Panel, t *report.File, seed string, m Metric,
	at func([]string) float64) (same bool) {
	x, y := make([][]float64, len(p.s.Policies)), make([][]float64, len(p.s.Policies))
	for _, r := range t.Rows {
		i := slices.Index(p.s.names(), t.Text(r, "policy"))
		if i < 0 || t.Text(r, "workload_seed") != seed {
			continue
		}
		v := t.Number(r, m.Name)
		if len(x[i]) == 0 { // the first value holds from the beginning
			x[i], y[i] = append(x[i], 0), append(y[i], v)
		}
		x[i], y[i] = append(x[i], at(r)), append(y[i], v)
	}
	same = len(x) > 1
	for i := range x {
		same = same && slices.Equal(x[i], x[0]) && slices.Equal(y[i], y[0])
	}
	if same {
		panel.Line(chart.Common(), x[0], y[0], true)
		return true
	}
	for i := len(x) - 1; i >= 0; i-- { // the first policy on top
		panel.Line(p.styles[i], x[i], y[i], true)
	}
	return false
}

// stepAxis is the label where steps take no time.
const stepAxis = "step"

// clock returns when a step ended, in the unit that suits the longest episode, or its number where steps take no time.
func clock(t *report.File, seed string) (at func(row []string) float64, axis string) {
	last := 0.0
	for _, r := range t.Rows {
		if t.Text(r, "workload_seed") == seed {
			last = max(last, t.Number(r, "time_s"))
		}
	}
	div, unit := 1.0, "s"
	switch {
	case last == 0:
		return func(r []string) float64 { return t.Number(r, "step") + 1 }, stepAxis
	case last > 4*86400:
		div, unit = 86400, "days"
	case last > 4*3600:
		div, unit = 3600, "h"
	case last > 240:
		div, unit = 60, "min"
	}
	return func(r []string) float64 { return t.Number(r, "time_s") / div }, "time (" + unit + ")"
}
