package pareto

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/eval/internal/words"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/train"
)

// Write leaves frontier.json, the points and the prices at equal violations as CSV, and the figure. It returns the names
// of the files.
func Write(dir string, r *Result) ([]string, error) {
	points, levels := r.Rows()
	f := report.Into(dir)
	f.JSON("frontier.json", r)
	f.CSV("frontier_points.csv", points)
	f.CSV("frontier_levels.csv", levels)
	f.Draw("frontier", r.figure())
	return f.Files()
}

// Rows are the points and the prices at equal violations as CSV, each with its header.
func (r *Result) Rows() (points, levels [][]string) {
	cells := func(n Number) []string { return report.Cells(n.Mean, n.Lo, n.Hi) }
	nan := report.Number(math.NaN())
	unless := func(below bool, n Number) []string {
		if below {
			n = Number{nan, nan, nan}
		}
		return cells(n)
	}
	points = [][]string{{"family", "setting", "beaten", r.Limit, r.Limit + "_lo", r.Limit + "_hi", r.Objective,
		r.Objective + "_lo", r.Objective + "_hi"}}
	for _, p := range r.Points {
		points = append(points, report.Cells(p.Family, p.Setting, p.Beaten, cells(p.Violated), cells(p.Price)))
	}
	levels = [][]string{{"family", "level", r.Objective, r.Objective + "_lo", r.Objective + "_hi", "ratio", "ratio_lo",
		"ratio_hi", "reached"}}
	for _, l := range r.Levels {
		levels = append(levels, report.Cells(l.Family, l.Level, unless(l.Below, l.Price), unless(l.RatioBelow, l.Ratio), l.Reached))
	}
	return points, levels
}

// Families are the families' names in their order.
func (r *Result) Families() []string {
	return lists.Distinct(lists.From(r.Points, func(p Row) string { return p.Family }))
}

// figure draws all points with their intervals, and each family's frontier.
func (r *Result) figure() *chart.Figure {
	return r.Figure(func(family string) chart.Style { return r.style(family, r.Families()) })
}

// style is the look of a family among those of a figure.
func (r *Result) style(family string, families []string) chart.Style {
	if slices.Contains(r.Bounds, family) {
		return chart.Bound()
	}
	return chart.Styles(slices.Index(families, family))
}

// Figure is figure with the looks of families chosen. Violations are on x and the price is on y, as in all figures: lower
// left is better.
func (r *Result) Figure(style func(family string) chart.Style) *chart.Figure {
	limit := words.Label(r.Limit, r.limitUnit())
	p := chart.NewPanel("", limit, words.Label(r.Objective, r.Unit))
	var key []chart.Entry
	for _, family := range r.Families() {
		key = append(key, chart.Entry{Text: family, Style: style(family), Line: true, Dot: true})
	}
	r.draw(p, math.Inf(1), style)
	p.RangeX(0, 0)
	return &chart.Figure{Title: fmt.Sprintf("%s over %s, 95 %% intervals: below and to the left is better", r.Objective, r.Limit),
		Under: fmt.Sprintf("%d workload seeds", len(r.Seeds)), Key: key, Panels: []*chart.Panel{p}, Columns: 1,
		Width: 460 * vg.Points(1), Height: 320 * vg.Points(1)}
}

func (r *Result) limitUnit() string {
	return cmp.Or(r.LimitUnit, Windows)
}

// draw draws the points with no more violations than limit, and each family's frontier among them.
func (r *Result) draw(p *chart.Panel, limit float64, style func(family string) chart.Style) {
	for _, family := range r.Families() {
		var points []xy
		for _, row := range r.Points {
			if row.Family != family || float64(row.Violated.Mean) > limit {
				continue
			}
			points = append(points, xy{float64(row.Violated.Mean), float64(row.Price.Mean)})
			p.Cross(style(family), within(bounds(row.Violated), limit), bounds(row.Price))
		}
		x, y := line(points)
		p.Line(style(family), x, y, false)
	}
}

// within cuts an interval off at a limit.
func within(r chart.Range, limit float64) chart.Range {
	r.High = min(r.High, limit)
	return r
}

func bounds(n Number) chart.Range { return chart.Range(n.Estimate()) }

// Estimate is the number as tables have it.
func (n Number) Estimate() report.Estimate { return report.Between(n.Mean, n.Lo, n.Hi) }

// line is the frontier of points: those that no other beats, by their violations.
func line(points []xy) (x, y []float64) {
	lost := beaten(points)
	var kept []xy
	for i, q := range points {
		if !lost[i] {
			kept = append(kept, q)
		}
	}
	slices.SortStableFunc(kept, func(a, b xy) int { return cmp.Compare(a.x, b.x) })
	for _, q := range kept {
		x, y = append(x, q.x), append(y, q.y)
	}
	return x, y
}

// Text is the result for a terminal.
func Text(r *Result) string {
	points := [][]string{{"family", "setting", r.Limit, fmt.Sprintf("%s (%s)", r.Objective, r.Unit)}}
	for _, p := range r.Points {
		note := ""
		if p.Beaten {
			note = "beaten by another of its family"
		}
		points = append(points, []string{p.Family, p.Setting, p.Violated.Text(), p.Price.Text(), note})
	}
	first := r.Families()[0]
	var levels [][]string
	for _, l := range r.Levels {
		ratio := l.Ratio.Text()
		switch {
		case l.RatioBelow || math.IsNaN(float64(l.Ratio.Mean)):
			ratio = "–"
		case l.Family == first:
			ratio = "1"
		}
		levels = append(levels, []string{fmt.Sprintf("%s at most %g", r.Limit, l.Level), l.Family, l.Text(), ratio})
	}
	return fmt.Sprintf("%s, %d workload seeds; means with 95 %% intervals\n\n%s\n"+
		"%s where %s is at most a level, along each frontier; and the price over that of %s:\n\n%s", r.Env, len(r.Seeds),
		report.Columns(points, false), r.Objective, r.Limit, first, report.Columns(levels, false))
}

// Text is the price with its interval, that the family does not reach the level, or a dash where all its settings violate
// far less.
func (a *At) Text() string {
	if a.Below {
		return "–"
	}
	return a.Price.Text()
}

// Text is the number with its interval, or that it is not reached.
func (n Number) Text() string {
	if math.IsNaN(float64(n.Mean)) {
		return "not reached"
	}
	return fmt.Sprintf("%.3g [%.3g, %.3g]", float64(n.Mean), float64(n.Lo), float64(n.Hi))
}

// Named is a result and the name of its folder.
type Named struct {
	Name string
	*Result
}

// Load reads the frontier.json of each folder. All must have the same objective and constraint.
func Load(dirs []string) ([]Named, error) {
	var out []Named
	for _, dir := range dirs {
		file := filepath.Join(dir, "frontier.json")
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%w; a folder of stoker frontier is wanted", err)
		}
		r := new(Result)
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		if err := d.Decode(r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(r.Points) == 0 {
			return nil, fmt.Errorf("%s has no points", file)
		}
		if first := out; len(first) > 0 && (r.Objective != first[0].Objective || r.Limit != first[0].Limit || r.Unit != first[0].Unit) {
			return nil, train.Usage("%s has %s (%s) over %s, but %s has %s (%s) over %s: they are no panels of one figure", file,
				r.Objective, r.Unit, r.Limit, dirs[0], first[0].Objective, first[0].Unit, first[0].Limit)
		}
		out = append(out, Named{filepath.Base(filepath.Clean(dir)), r})
	}
	return out, nil
}

// WritePanels leaves the points and the prices at equal violations of all results as CSV, with the name of each in
// front, the [Means], and one figure with a panel for each. Points with more violations than limit are not drawn.
func WritePanels(dir string, results []Named, columns int, limit float64) ([]string, error) {
	var points, levels [][]string
	for _, r := range results {
		p, l := r.Rows()
		points, levels = r.under(points, p), r.under(levels, l)
	}
	f := report.Into(dir)
	f.CSV("frontiers_points.csv", points)
	f.CSV("frontiers_levels.csv", levels)
	f.CSV("frontiers_means.csv", meanRows(Means(results)))
	f.Draw("frontiers", panels(results, columns, limit))
	return f.Files()
}

// under are rows with further ones below them, each with the result's name in front; the first of these is the head.
func (n *Named) under(rows, more [][]string) [][]string {
	for i, row := range more {
		switch {
		case i > 0:
			rows = append(rows, append([]string{n.Name}, row...))
		case len(rows) == 0:
			rows = append(rows, append([]string{"panel"}, row...))
		}
	}
	return rows
}

// panels is a figure in which a family has the same colour in all panels.
func panels(results []Named, columns int, limit float64) *chart.Figure {
	var families []string
	for _, r := range results {
		families = lists.Distinct(append(families, r.Families()...))
	}
	first := results[0]
	unit := first.limitUnit() + ", "
	if first.LimitUnit == "1" {
		unit = ""
	}
	f := &chart.Figure{Columns: columns, Width: 230 * vg.Points(1), Height: 175 * vg.Points(1),
		Title: fmt.Sprintf("%s over %s (%sup to %g), 95 %% intervals: below and to the left is better", words.Label(first.Objective, first.Unit),
			first.Limit, unit, limit)}
	for _, name := range families {
		of := results[slices.IndexFunc(results, func(n Named) bool { return slices.Contains(n.Families(), name) })]
		f.Key = append(f.Key, chart.Entry{Text: name, Style: of.style(name, families), Line: true, Dot: true})
	}
	for _, r := range results {
		p := chart.NewPanel(r.Name, "", "")
		p.TicksX(4)
		p.TicksY(4)
		r.draw(p, limit, func(name string) chart.Style { return r.style(name, families) })
		p.RangeX(0, limit)
		f.Panels = append(f.Panels, p)
	}
	return f
}
