package faasconf

import (
	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/rng"
)

// Sizes of panels, in points.
const (
	half   = vg.Length(280)
	height = vg.Length(185)
)

// plot is a figure of lines over x: one line for each of a few series, with bands over seeds.
type plot struct{ report.Figure }

// newPlot begins a figure; series, x and y head the columns of its data.
func newPlot(name, caption, series, x, y string) *plot {
	return &plot{*report.NewFigure(name, caption+" Bands are 95 % intervals.", chart.Figure{Columns: 2, Width: half, Height: height},
		"panel", series, x, y)}
}

// panel adds a panel; values returns a series' scores at the k-th x. Series of one name have one style in all panels.
func (p *plot) panel(r *suite.Report, title, x, y string, names []string, xs []float64,
	values func(series, k int) []float64) {
	c := p.Panel(title, x, y)
	for s, name := range names {
		var es []report.Estimate
		for k := range xs {
			e := report.None()
			if v := values(s, k); len(v) > 0 {
				e = r.Estimate(stats.Scores{v})
			}
			es = append(es, e)
			p.Rows = append(p.Rows, []any{title, name, xs[k], e})
		}
		report.Line(c, chart.Styles(p.style(name)), xs, es)
	}
	c.RangeY(0, 0)
}

// style is the place of a name in the key, where it is added if it is new.
func (p *plot) style(name string) int {
	for i := range p.Chart.Key {
		if p.Chart.Key[i].Text == name {
			return i
		}
	}
	i := len(p.Chart.Key)
	p.Chart.Key = append(p.Chart.Key, chart.Entry{Text: name, Style: chart.Styles(i), Line: true, Band: true})
	return i
}

func (p *plot) add(r *suite.Report) {
	p.Chart.Columns = min(2, len(p.Chart.Panels))
	r.Figure(p.Figure)
}

// estimate is the report's estimate of scores, for claims.
func estimate(s stats.Scores) report.Estimate {
	return report.Of(stats.IQMInterval(s, envs.Bounds{}, suite.Resamples, rng.New(1, "suite/estimate").Stream()))
}
