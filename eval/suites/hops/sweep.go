package hops

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
)

// level1 is all rivals at the paper's final prices and so much more, or less.
type level1 struct {
	shift float64
	*match
}

// levels are the price levels of the sweep, in both profiles.
func levels(o *suite.Options, worlds ...*world) []*level1 {
	shifts := []float64{-0.6, -0.45, -0.3, -0.15, 0, 0.15, 0.3, 0.5, 0.75, 1, 1.5}
	if o.Quick {
		shifts = []float64{-0.6, -0.3, 0, 0.3, 1}
	}
	var out []*level1
	for _, w := range worlds {
		for _, x := range shifts {
			prices := make([]float64, len(paperPrices))
			for i, p := range paperPrices {
				prices[i] = p + x
			}
			out = append(out, &level1{x, &match{world: w, policies: rivals(prices)}})
		}
	}
	return out
}

// figure shows every regime's profits, HOPS' own as a line through each, a figure per profile.
func (c *control) figure(r *suite.Report) error {
	for k, list := range [][]*regime{c.paper, c.outside} {
		f := suite.Figure{
			Name: []string{"control-prices", "control-outside"}[k],
			Caption: []string{
				"The same rivals at other prices, every user buying something: profit of each (95 % intervals) and, as a vertical line, of HOPS, which learns its prices.",
				"The same where users may stay away, so that profit has an optimum in price.",
			}[k],
			Chart:   &chart.Figure{Columns: []int{3, 2}[k], Width: vg.Length(215), Height: vg.Length(50 + 14*len(list[0].own.policies))},
			Columns: []suite.Column{{Name: "regime"}, {Name: "policy"}, {Name: "profit", Unit: "money"}},
		}
		if err := c.panels(r, &f, list); err != nil {
			return err
		}
		r.Figure(f)
	}
	return nil
}

// panels are one profile's regimes, all on the same axis.
func (c *control) panels(r *suite.Report, f *suite.Figure, list []*regime) error {
	var names []string
	for _, p := range list[0].own.policies {
		names = append(names, p.name)
	}
	s, err := list[0].own.scores(0, "profit", 1)
	if err != nil {
		return err
	}
	own := r.Estimate(s)
	lo, hi := own.Lo, own.Hi
	for i, g := range list {
		panel := chart.NewPanel(g.name, "profit (money)", "")
		panel.TicksX(4)
		panel.MarginX = 0.06
		panel.Names(names, i%f.Chart.Columns != 0)
		panel.Rule(own.At)
		if i > 0 {
			panel.Interval(style(0), 0, chart.Range{At: own.At, Low: own.Lo, High: own.Hi})
		}
		for j, p := range g.policies {
			s, err := g.scores(j, "profit", 1)
			if err != nil {
				return err
			}
			e := r.Estimate(s)
			f.Rows = append(f.Rows, []any{g.name, p.name, e})
			line := slices.Index(names, p.name)
			lo, hi = min(lo, e.Lo), max(hi, e.Hi)
			panel.Interval(style(line), line, chart.Range{At: e.At, Low: e.Lo, High: e.Hi})
		}
		f.Chart.Panels = append(f.Chart.Panels, panel)
	}
	for _, p := range f.Chart.Panels {
		p.RangeX(lo, hi)
	}
	return nil
}

// sweepFigure shows profit against the level of prices.
func sweepFigure(r *suite.Report, c *control) error {
	f := suite.Figure{
		Name:    "control-level",
		Caption: "Profit against the level of prices: all rivals at 1.1/1.3/1.5 and so much more or less. As eq. 1 is printed every user buys something, and profit rises with the price without end; where users may stay away it has an optimum. Dashed: HOPS, which learns its prices.",
		Chart:   &chart.Figure{Columns: 2, Width: half, Height: height},
		Columns: []suite.Column{{Name: "users"}, {Name: "policy"}, {Name: "shift", Unit: "money per billing unit"}, {Name: "profit", Unit: "money"}, {Name: "violations", Unit: "% of jobs"}},
	}
	for i, p := range rivals(nil) {
		f.Chart.Key = append(f.Chart.Key, chart.Entry{Text: p.name, Style: style(i + 1), Line: true, Band: true})
	}
	f.Chart.Key = append(f.Chart.Key, chart.Entry{Text: "HOPS", Style: faded(style(0)), Line: true})
	for k, list := range [][]*regime{c.paper, c.outside} {
		users := users(k)
		own := list[0].own
		panel := chart.NewPanel("users "+users, "prices less 1.1/1.3/1.5", "profit (money)")
		for i, p := range rivals(nil) {
			var x, mid, lo, hi []float64
			for _, l := range c.sweep {
				if l.world != own.world {
					continue
				}
				s, err := l.scores(i, "profit", 1)
				if err != nil {
					return err
				}
				v, err := l.scores(i, "violation_rate", 100)
				if err != nil {
					return err
				}
				e := r.Estimate(s)
				x, mid, lo, hi = append(x, l.shift), append(mid, e.At), append(lo, e.Lo), append(hi, e.Hi)
				f.Rows = append(f.Rows, []any{users, p.name, l.shift, e, r.Estimate(v)})
			}
			panel.Band(style(i+1), x, lo, hi)
			panel.Line(style(i+1), x, mid, false)
			if i == 0 {
				s, err := own.scores(0, "profit", 1)
				if err != nil {
					return err
				}
				y := r.Estimate(s).At
				panel.Line(faded(style(0)), []float64{x[0], x[len(x)-1]}, []float64{y, y}, false)
			}
		}
		f.Chart.Panels = append(f.Chart.Panels, panel)
	}
	if len(f.Rows) == 0 {
		return fmt.Errorf("no price level was played")
	}
	r.Figure(f)
	return nil
}
