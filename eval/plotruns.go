package eval

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/internal/words"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/train"
)

// RunPlot says how runs are drawn over training. The zero value of every field but Runs is a default.
type RunPlot struct {
	// Runs are run folders or patterns of them.
	Runs []string
	// Metrics are tags of metrics.jsonl or timing.jsonl, a panel each; rollout/ep_rew_mean where none is named.
	Metrics []string
	// Time draws over seconds of training instead of environment steps.
	Time bool
	// Smooth is the factor of an exponential moving average, from 0, none, to below 1.
	Smooth float64
	// Average over the runs of a group is AverageIQM or AverageMean, Band one of BandInterval, BandRange and BandNone.
	Average, Band string
	// Separate draws every run for itself.
	Separate bool
	// Labels name the groups in the order of the first run of each.
	Labels []string
	Title  string
	// Log makes the vertical axes logarithmic.
	Log bool
	// Catalog has the environments whose quantities have units; nil is that of [catalog.Default].
	Catalog *catalog.Catalog
	// Out is the folder of the figure, Name that of its files without the extension.
	Out, Name string
}

// Plotted is what PlotRuns left: files, and remarks on what is drawn and what could not be.
type Plotted struct {
	Files []string `json:"files"`
	Notes []string `json:"notes"`
}

func (p RunPlot) filled() (RunPlot, error) {
	if len(p.Metrics) == 0 {
		p.Metrics = []string{"rollout/ep_rew_mean"}
	}
	if p.Catalog == nil {
		p.Catalog = catalog.Default()
	}
	p.Average, p.Band = cmp.Or(p.Average, AverageIQM), cmp.Or(p.Band, BandInterval)
	p.Name, p.Out = cmp.Or(p.Name, curveName), cmp.Or(p.Out, ".")
	switch {
	case !(p.Smooth >= 0 && p.Smooth < 1):
		return p, train.Usage("smoothing is %g, want a factor from 0 (none) to below 1, such as 0.9", p.Smooth)
	case p.Average != AverageIQM && p.Average != AverageMean:
		return p, train.Usage("average is %q, want %s or %s", p.Average, AverageIQM, AverageMean)
	case !slices.Contains([]string{BandInterval, BandRange, BandNone}, p.Band):
		return p, train.Usage("band is %q, want %s, %s or %s", p.Band, BandInterval, BandRange, BandNone)
	case p.Name != fileName(p.Name):
		return p, train.Usage("name is %q, want a file's name without a folder, spaces and any of \\ : * ? \" < > |", p.Name)
	}
	return p, nil
}

// PlotRuns draws metrics of several runs over training: a line per group of runs that are equal but for the seed,
// with a band over its seeds. It leaves a PNG, an SVG, a PDF and two CSV files, the runs' values and the lines as drawn.
func PlotRuns(p RunPlot) (*Plotted, error) {
	p, err := p.filled()
	if err != nil {
		return nil, err
	}
	dirs, err := FindRuns(p.Runs)
	if err != nil {
		return nil, err
	}
	if len(dirs) == 0 {
		return nil, train.Usage("no runs to draw")
	}
	infos, err := lists.Try(dirs, readRun)
	if err != nil {
		return nil, err
	}
	groups := groupRuns(infos, p.Separate)
	if len(p.Labels) > 0 && len(p.Labels) != len(groups) {
		lines := lists.From(groups, func(g runGroup) string { return g.label })
		return nil, train.Usage("%d labels for %d lines: %s", len(p.Labels), len(groups), strings.Join(lines, ", "))
	}
	for i, l := range p.Labels {
		groups[i].label = l
	}
	var all []Curve
	for _, m := range p.Metrics {
		for _, g := range groups {
			for _, r := range g.runs {
				c, err := ReadCurve(r.dir, g.label, m)
				if err == nil && p.Time {
					c, err = c.clocked()
				}
				if err != nil {
					return nil, err
				}
				all = append(all, c)
			}
		}
	}
	if p.Title == "" {
		p.Title = "Learning curves"
		if env := infos[0].env; env != "" && !slices.ContainsFunc(infos, func(r runInfo) bool { return r.env != env }) {
			p.Title += " in " + env
		}
	}
	return p.draw(groups, all)
}

// draw writes the figure and its data.
func (p RunPlot) draw(groups []runGroup, all []Curve) (*Plotted, error) {
	xname := "step"
	if p.Time {
		xname = "seconds"
	}
	rows := [][]string{{"group", "metric", xname, p.Average, "lo", "hi", "runs"}}
	f := &chart.Figure{Title: p.Title, Columns: 1, Width: onePanel, Height: panelHeight}
	if len(p.Metrics) > 1 {
		f.Columns, f.Width, f.Height = 2, onePanel*2/3, panelHeight*4/5
	}
	spec := specOf(groups[0].runs[0], p.Catalog)
	for k, m := range p.Metrics {
		o := bandOptions{Average: p.Average, Band: p.Band, Smooth: p.Smooth, Time: p.Time, Bounds: quantityOf(spec, m).Bounds}
		lines := bands(slices.DeleteFunc(slices.Clone(all), func(c Curve) bool { return c.Metric != m }), o)
		div, xlabel := p.axis(lines)
		panel := chart.NewPanel("", xlabel, words.Label(m, quantityOf(spec, m).Unit))
		if p.Log {
			panel.LogY()
		}
		panel.RangeX(0, 0)
		for i, b := range lines {
			for j, x := range b.x {
				rows = append(rows, report.Cells(b.group, m, x, b.mid[j], b.lo[j], b.hi[j], b.runs))
				b.x[j] = x / div
			}
			if e := o.draw(panel, b, chart.Styles(i)); k == 0 {
				f.Key = append(f.Key, e)
			}
		}
		f.Panels = append(f.Panels, panel)
		if spec != nil {
			curveLevels(f, spec.Levels, m, quantityOf(spec, m).Unit)
		}
	}
	to := report.Into(p.Out)
	to.Draw(p.Name, f)
	to.CSV(p.Name+".csv", curveRows(all))
	to.CSV(p.Name+"_bands.csv", rows)
	files, err := to.Paths()
	return &Plotted{files, p.notes(groups, all)}, err
}

// axis is by what steps or seconds are divided, and the axis's label.
func (p RunPlot) axis(lines []band) (div float64, label string) {
	if !p.Time {
		return 1, "environment steps"
	}
	last := 0.0
	for _, b := range lines {
		if n := len(b.x); n > 0 {
			last = max(last, b.x[n-1])
		}
	}
	switch {
	case last > 4*3600:
		return 3600, "training time (h)"
	case last > 240:
		return 60, "training time (min)"
	}
	return 1, "training time (s)"
}

// notes say what each line is made of, and which lines end early because a run of theirs does.
func (p RunPlot) notes(groups []runGroup, all []Curve) []string {
	var out []string
	for _, g := range groups {
		note := g.label + ": " + report.Count(len(g.runs), "run")
		if len(groups) > 1 && !strings.Contains(g.label, "=") && len(g.differs) > 0 && !p.Separate {
			most := g.differs[:min(len(g.differs), 6)]
			note += ", " + strings.Join(most, ", ")
			if len(g.differs) > len(most) {
				note += fmt.Sprintf(" and %d more", len(g.differs)-len(most))
			}
		}
		out = append(out, note)
		least, most, who := int64(math.MaxInt64), int64(0), ""
		for _, c := range all {
			if c.Group != g.label || c.Metric != p.Metrics[0] {
				continue
			}
			last := c.Steps[len(c.Steps)-1]
			if most = max(most, last); last < least {
				least, who = last, c.Run
			}
		}
		if least < most {
			out = append(out, fmt.Sprintf("%s: drawn up to step %d, where %s ends; another run has %d steps", g.label, least,
				who, most))
		}
	}
	return out
}

// specOf is the spec of a run's environment; nil where it cannot be made. Units and levels are then missing, which is
// no reason to draw nothing.
func specOf(r runInfo, names *catalog.Catalog) *envs.Spec {
	x, err := configs.ParseResolved(filepath.Join(r.dir, checkpoints.RunFile), r.raw, nil, names)
	if err != nil {
		return nil
	}
	env, err := train.NewEnv(x, "test")
	if err != nil {
		return nil
	}
	return env.Spec()
}

// quantityOf is the environment's quantity that a metric logs; one without a name where there is none.
func quantityOf(spec *envs.Spec, metric string) envs.Quantity {
	if spec == nil {
		return envs.Quantity{}
	}
	i, err := spec.InfoIndex(quantityIn(metric))
	if err != nil {
		return envs.Quantity{}
	}
	return spec.Info[i]
}

// draw draws a group's line with its band, and returns its entry in the key, which says what the band is.
func (o bandOptions) draw(p *chart.Panel, b band, s chart.Style) chart.Entry {
	e := chart.Entry{Text: b.group, Style: s, Line: true}
	if b.runs > 1 {
		what := map[string]string{AverageIQM: "IQM", AverageMean: "mean"}[o.Average]
		switch {
		case o.Band == BandInterval && b.runs >= stats.FewSeeds:
			what, e.Band = what+" and 95 % interval", true
		case o.Band != BandNone:
			what, e.Band = what+" and range", true
		}
		e.Text = fmt.Sprintf("%s (%s of %d runs)", b.group, what, b.runs)
	}
	if e.Band {
		p.Band(s, b.x, b.lo, b.hi)
	}
	p.Line(s, b.x, b.mid, false)
	return e
}

// band is a group's curve: an average over its runs, and how far they spread.
type band struct {
	group          string
	runs           int
	x, mid, lo, hi []float64
}

// What a band shows beside the average of several runs.
const (
	// BandInterval is the 95 % interval of the average over training seeds, and their range where they are fewer than
	// stats.FewSeeds.
	BandInterval = "interval"
	// BandRange reaches from the lowest run to the highest.
	BandRange = "range"
	BandNone  = "none"
)

// Averages over runs.
const (
	AverageIQM  = "iqm"
	AverageMean = "mean"
)

// bandOptions say how curves are joined; zero is the IQM over steps, not smoothed.
type bandOptions struct {
	Average, Band string
	Smooth        float64
	Time          bool
	// Bounds are the bounds of the metric that is drawn: no interval leaves them.
	Bounds envs.Bounds
}

// bands joins curves by group. Where the runs of a group have no stretch in common, each is a band of its own.
func bands(curves []Curve, o bandOptions) []band {
	var out []band
	for _, g := range lists.Distinct(lists.From(curves, func(c Curve) string { return c.Group })) {
		of := slices.DeleteFunc(slices.Clone(curves), func(c Curve) bool { return c.Group != g })
		if b := join(g, of, o); len(b.x) > 0 {
			out = append(out, b)
			continue
		}
		for _, c := range of {
			out = append(out, join(filepath.Base(filepath.Clean(c.Run)), []Curve{c}, o))
		}
	}
	return out
}

// bandPoints is the most points of which a band is made: more than a figure has pixels across would only slow it down.
const bandPoints = 500

// join averages curves at every place where one of them has a value and all of them have begun and not ended,
// linearly between their own values.
func join(group string, curves []Curve, o bandOptions) band {
	b := band{group: group, runs: len(curves)}
	lo, hi := math.Inf(-1), math.Inf(1)
	var grid []float64
	xs, ys := make([][]float64, len(curves)), make([][]float64, len(curves))
	for k, c := range curves {
		xs[k], ys[k] = c.points(o.Time)
		ys[k] = smoothed(ys[k], o.Smooth)
		if len(xs[k]) == 0 {
			return b
		}
		lo, hi = max(lo, xs[k][0]), min(hi, xs[k][len(xs[k])-1])
		grid = append(grid, xs[k]...)
	}
	slices.Sort(grid)
	grid = slices.DeleteFunc(slices.Compact(grid), func(x float64) bool { return x < lo || x > hi })
	v := make([]float64, len(curves))
	for i, x := range grid {
		if every := 1 + len(grid)/bandPoints; i%every != 0 && i != len(grid)-1 {
			continue
		}
		for k := range curves {
			v[k] = interpolate(xs[k], ys[k], x)
		}
		at := o.average(v)
		b.x, b.mid = append(b.x, x), append(b.mid, at.Point)
		b.lo, b.hi = append(b.lo, at.Low), append(b.hi, at.High)
	}
	return b
}

// average is that of the values of several runs at one place, with its band.
func (o bandOptions) average(v []float64) stats.Interval {
	var at stats.Interval
	if o.Average == AverageMean {
		at = stats.MeanInterval(v)
	} else {
		at = stats.TrimmedInterval(v)
	}
	at.Low, at.High = stats.Around(at.Point, at.Point-at.Low, o.Bounds)
	switch {
	case len(v) == 1 || o.Band == BandNone:
		at.Low, at.High = at.Point, at.Point
	case o.Band == BandRange || len(v) < stats.FewSeeds:
		at.Low, at.High = slices.Min(v), slices.Max(v)
	}
	return at
}
