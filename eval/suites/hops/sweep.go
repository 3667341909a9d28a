package hops

import (
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
)

// priceLevel is all rivals at the paper's final prices and so much more, or less.
type priceLevel struct {
	shift float64
	*match
}

// levels are the price levels of the sweep, in both profiles.
func levels(o *suite.Options, r *suite.Report, worlds ...*world) []*priceLevel {
	shifts := []float64{-0.6, -0.45, -0.3, -0.15, 0, 0.15, 0.3, 0.5, 0.75, 1, 1.5}
	if o.Quick {
		shifts = []float64{-0.6, -0.3, 0, 0.3, 1}
	}
	var out []*priceLevel
	for _, w := range worlds {
		for _, x := range shifts {
			prices := make([]float64, len(paperPrices))
			for i, p := range paperPrices {
				prices[i] = p + x
			}
			out = append(out, &priceLevel{x, &match{r: r, world: w, policies: rivals(prices)}})
		}
	}
	return out
}

// figure shows every regime's profits, HOPS' own as a line through each, a figure per profile.
func (c *control) figure(r *suite.Report) {
	for k, list := range [][]*regime{c.paper, c.outside} {
		f := suite.Figure{
			Name: []string{"control-prices", "control-outside"}[k],
			Caption: []string{
				"The same rivals at other prices, every user buying something: profit of each (95 % intervals) and, " +
					"as a vertical line, of HOPS, which learns its prices.",
				"The same where users may stay away, so that profit has an optimum in price.",
			}[k],
			Chart: &chart.Figure{Columns: []int{3, 2}[k], Width: vg.Length(215),
				Height: vg.Length(50 + 14*len(list[0].own.policies))},
			Columns: table.Head("regime", "policy", "profit [money]"),
		}
		c.panels(&f, list)
		r.Figure(f)
	}
}

// panels are one profile's regimes, all on the same axis.
func (c *control) panels(f *suite.Figure, list []*regime) {
	names := list[0].own.names()
	own := list[0].own.estimate(0, "profit", 1)
	lo, hi := own.Low, own.High
	for i, g := range list {
		panel := chart.NewPanel(g.name, "profit (money)", "")
		panel.TicksX(4)
		panel.MarginX = 0.06
		panel.Names(names, i%f.Chart.Columns != 0)
		panel.Rule(own.At)
		if i > 0 {
			panel.Interval(chart.Styles(0), 0, chart.Range(own))
		}
		for j, p := range g.policies {
			e := g.estimate(j, "profit", 1)
			f.Rows = append(f.Rows, []any{g.name, p.name, e})
			line := slices.Index(names, p.name)
			lo, hi = min(lo, e.Low), max(hi, e.High)
			panel.Interval(chart.Styles(line), line, chart.Range(e))
		}
		f.Chart.Panels = append(f.Chart.Panels, panel)
	}
	for _, p := range f.Chart.Panels {
		p.RangeX(lo, hi)
	}
}

// sweepFigure shows profit against the level of prices.
func sweepFigure(r *suite.Report, c *control) {
	f := suite.Figure{
		Name: "control-level",
		Caption: "Profit against the level of prices: all rivals at 1.1/1.3/1.5 and so much more or less. As eq. 1 is " +
			"printed every user buys something, and profit rises with the price without end; where users may stay away it " +
			"has an optimum. Dashed: HOPS, which learns its prices.",
		Chart:   &chart.Figure{Columns: 2, Width: half, Height: height},
		Columns: table.Head("users", "policy", "shift [money per billing unit]", "profit [money]", "violations [% of jobs]"),
	}
	for i, p := range rivals(nil) {
		f.Chart.Key = append(f.Chart.Key, chart.Entry{Text: p.name, Style: chart.Styles(i + 1), Line: true, Band: true})
	}
	f.Chart.Key = append(f.Chart.Key, chart.Entry{Text: "HOPS", Style: faded(chart.Styles(0)), Line: true})
	for k, list := range [][]*regime{c.paper, c.outside} {
		users := users(k)
		own := list[0].own
		panel := chart.NewPanel("users "+users, "prices less 1.1/1.3/1.5", "profit (money)")
		for i, p := range rivals(nil) {
			var x []float64
			var profit []table.Estimate
			for _, l := range c.sweep {
				if l.world != own.world {
					continue
				}
				e := l.estimate(i, "profit", 1)
				x, profit = append(x, l.shift), append(profit, e)
				f.Rows = append(f.Rows, []any{users, p.name, l.shift, e, l.estimate(i, "violation_rate", 100)})
			}
			suite.Line(panel, chart.Styles(i+1), x, profit)
			if i == 0 {
				y := own.estimate(0, "profit", 1).At
				panel.Line(faded(chart.Styles(0)), []float64{x[0], x[len(x)-1]}, []float64{y, y}, false)
			}
		}
		f.Chart.Panels = append(f.Chart.Panels, panel)
	}
	r.Figure(f)
}
