package leaderboard

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/eval/internal/words"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/train/sweep"
)

// point is a run in the figure of a key.
type point struct {
	value string  // of the key
	x     float64 // the value as a number; NaN where it is none
	// others are the values of the other keys, as in "hidden=[32,32]".
	others string
	arm    string
	seed   uint64
	y      float64
}

// points are the finished runs, in the order of the key's values.
func (b *Board) points(key string) []point {
	var out []point
	for _, a := range b.Arms {
		i := slices.IndexFunc(a.Settings, func(s sweep.Setting) bool { return s.Key == key })
		for _, r := range a.Runs {
			if y := float64(r.Value); i >= 0 && !math.IsNaN(y) {
				p := point{value: a.Settings[i].Value, x: math.NaN(), others: b.others(a, key), arm: a.Name, seed: r.Seed, y: y}
				if x, err := strconv.ParseFloat(p.value, 64); err == nil {
					p.x = x
				}
				out = append(out, p)
			}
		}
	}
	slices.SortFunc(out, func(p, q point) int {
		return cmp.Or(cmp.Compare(p.x, q.x), cmp.Compare(p.value, q.value), cmp.Compare(p.arm, q.arm),
			cmp.Compare(p.seed, q.seed))
	})
	return out
}

// others writes an arm's settings but that of a key.
func (b *Board) others(a Arm, key string) string {
	var out []string
	for _, s := range a.Settings {
		if s.Key != key {
			out = append(out, configs.ShortKey(s.Key, b.Keys)+"="+s.Value)
		}
	}
	return strings.Join(out, " ")
}

// level is a value of the key with the runs that have it.
type level struct {
	value string
	x     float64
	y     []float64
}

// levels groups points by their value.
func levels(points []point) []level {
	var out []level
	for _, p := range points {
		if n := len(out); n == 0 || out[n-1].value != p.value {
			out = append(out, level{value: p.value, x: p.x})
		}
		l := &out[len(out)-1]
		l.y = append(l.y, p.y)
	}
	return out
}

// Styles of the figures where runs are not told apart: runs, and means over those of one value.
var (
	runStyle  = chart.Styles(5)
	meanStyle = chart.Styles(1)
)

// series are the points of one combination of the other keys' values, or all of them.
type series struct {
	name      string
	run, mean chart.Style
	levels    []level
}

// mostSeries is the number of combinations of the other keys up to which each has a line of its own.
const mostSeries = 6

// split gives each combination of the other keys' values its own series, where these are a few of a grid; else all
// points are one series, whose mean is over the other keys too.
func (b *Board) split(key string, points []point) []series {
	var others []string
	by := map[string][]point{}
	for _, p := range points {
		if _, ok := by[p.others]; !ok {
			others = append(others, p.others)
		}
		by[p.others] = append(by[p.others], p)
	}
	all := levels(points)
	if len(others) < 2 || len(others) > mostSeries || len(b.grid) < len(b.Keys) {
		s := series{name: "mean over the seeds", run: runStyle, mean: meanStyle, levels: all}
		if mixed(points) {
			s.name += " and the values of the other keys"
		}
		return []series{s}
	}
	slices.SortFunc(others, func(x, y string) int { return cmp.Compare(b.order[by[x][0].arm], b.order[by[y][0].arm]) })
	out := make([]series, len(others))
	for i, name := range others {
		out[i] = series{name, chart.Styles(i), chart.Styles(i), levels(by[name])}
	}
	return out
}

// mixed reports whether a value of the key stands for several arms. Points are in the order of the key's values.
func mixed(points []point) bool {
	for i, p := range points[1:] {
		if p.value == points[i].value && p.arm != points[i].arm {
			return true
		}
	}
	return false
}

// effect draws the metric against a key's values and writes the data beside the figure. It returns the figure's files;
// none where no run is finished.
func (b *Board) effect(key, dir string) ([]string, error) {
	points := b.points(key)
	if len(points) == 0 {
		return nil, nil
	}
	list := levels(points)
	rows := [][]string{{key, "arm", "seed", b.Metric.Name, "mean"}}
	for _, p := range points {
		i := slices.IndexFunc(list, func(l level) bool { return l.value == p.value })
		rows = append(rows, []string{p.value, p.arm, fmt.Sprint(p.seed), report.Exact(p.y),
			report.Exact(stats.Mean(list[i].y))})
	}
	if err := report.WriteFile(dir, key+".csv", rows); err != nil {
		return nil, err
	}
	parts := b.split(key, points)
	numeric := !slices.ContainsFunc(points, func(p point) bool { return math.IsNaN(p.x) })
	joined := numeric && b.grid[key]
	panel, height := b.words(key, list, parts), max(140, 60+vg.Length(len(list))*26)
	if numeric {
		panel, height = b.numbers(key, list, parts, joined), 280
	}
	title := fmt.Sprintf("Effect of %s on %s in %s", configs.ShortKey(key, b.Keys), words.Of(b.Metric.Name), b.Env)
	f := &chart.Figure{Title: title, Panels: []*chart.Panel{panel}, Columns: 1, Width: 480, Height: height}
	if len(parts) == 1 {
		f.Key = []chart.Entry{{Text: "a run", Style: runStyle, Dot: true}}
	}
	for _, s := range parts {
		if len(parts) > 1 && joined {
			s.name += " (runs and their mean)"
		}
		if len(parts) > 1 || repeats(list) {
			f.Key = append(f.Key, chart.Entry{Text: s.name, Style: s.mean, Dot: true, Line: joined})
		}
	}
	folder := report.Into(dir)
	folder.Draw(key, f)
	return folder.Paths()
}

// repeats reports whether a value has several runs, so that a mean says more than its point.
func repeats(list []level) bool {
	return slices.ContainsFunc(list, func(l level) bool { return len(l.y) > 1 })
}

// axis is the metric's label: its name, its unit and of when it is.
func (b *Board) axis() string {
	return words.Label(b.Metric.Name, b.Metric.Unit) + ", " + map[bool]string{true: "best evaluation", false: b.when()}[b.At == Best]
}

// numbers is the figure of a key whose values are numbers, which stand along the horizontal axis.
func (b *Board) numbers(key string, list []level, parts []series, joined bool) *chart.Panel {
	panel := chart.NewPanel("", key, b.axis())
	x, y := extent(list)
	if b.log[key] || wide(x, 10) {
		panel.LogX()
	}
	if wide(y, wideMetric) {
		panel.LogY()
	}
	panel.MarginX = 0.05
	for _, s := range parts {
		var x, mean []float64
		for _, l := range s.levels {
			for _, y := range l.y {
				panel.Cross(s.run, chart.Exactly(l.x), chart.Exactly(y))
			}
			x, mean = append(x, l.x), append(mean, stats.Mean(l.y))
		}
		if joined {
			panel.Line(s.mean, x, mean, false)
		}
		for i := range x {
			if len(parts) == 1 && repeats(list) {
				panel.Cross(s.mean, chart.Exactly(x[i]), chart.Exactly(mean[i]))
			}
		}
	}
	return panel
}

// words is the figure of a key whose values are words or lists, which stand along the vertical axis.
func (b *Board) words(key string, list []level, parts []series) *chart.Panel {
	panel := chart.NewPanel("", b.axis(), key)
	if _, y := extent(list); wide(y, wideMetric) {
		panel.LogX()
	}
	names := lists.From(list, func(l level) string { return l.value })
	for _, s := range parts {
		for _, l := range s.levels {
			line := slices.Index(names, l.value)
			for _, y := range l.y {
				panel.Interval(s.run, line, chart.Exactly(y))
			}
			if len(parts) == 1 && repeats(list) {
				panel.Interval(s.mean, line, chart.Exactly(stats.Mean(l.y)))
			}
		}
	}
	panel.Names(names, false)
	return panel
}

// wideMetric is the ratio of values from which on their axis is logarithmic.
const wideMetric = 30

// extent is the range of the key's values and of the metric's.
func extent(list []level) (x, y [2]float64) {
	x, y = [2]float64{list[0].x, list[0].x}, [2]float64{list[0].y[0], list[0].y[0]}
	for _, l := range list {
		x = [2]float64{min(x[0], l.x), max(x[1], l.x)}
		y = [2]float64{min(y[0], slices.Min(l.y)), max(y[1], slices.Max(l.y))}
	}
	return x, y
}

// wide reports whether values are positive, and the largest is some times the smallest.
func wide(x [2]float64, times float64) bool { return x[0] > 0 && x[1] >= times*x[0] }
