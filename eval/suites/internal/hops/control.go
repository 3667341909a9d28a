package hops

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
)

// regime is one answer to what the rivals charge, and how they did against HOPS.
type regime struct {
	name string
	*match
	own *match // whose first policy is the HOPS that they are compared with
}

// control is the comparison that the paper does not make: the same rivals, at other prices.
type control struct {
	paper, outside []*regime // every user buys something; users may stay away
	zoo            []*learned
	variants       [2]*match // HOPS with other settings, and the best static prices, by profile
	sweep          []*priceLevel
	// final are HOPS' prices in the last windows, by profile.
	final [2][]float64
	// schedulers are the comparisons of ARMS, as the tuned SPSS has it, with the others at equal prices, by profile.
	schedulers [2][]suite.Comparison
}

// equal are the price vectors at which all rivals stand.
var equal = [][]float64{{1.1, 1.3, 1.5}, {1.3, 1.5, 1.7}}

func priceText(p []float64) string {
	return strings.Join(lists.From(p, func(x float64) string { return fmt.Sprintf("%.4g", x) }), "/")
}

// finalName is the regime whose prices are found by playing.
const finalName = "rivals at HOPS' final prices"

// capped is HOPS with the paper's "optional upper bounds" at its final prices, larger steps and four pairs of trials.
func capped(w *world) policy {
	p := hops(w)
	c := *p.pba
	c.Prices.Caps, c.Prices.Step, c.Pairs = paperPrices, 0.08, 4
	p.name, p.pba = cappedName, &c
	return p
}

func eager(w *world) policy {
	p := hops(w)
	c := *p.pba
	c.Prices.Step = 1
	p.name, p.pba = "HOPS, steps 20 times as long", &c
	return p
}

// best are the best static prices and baselines that a search in generated arrivals found where users may stay away
// (configs/pricing/hops-pricer.yaml).
func best() policy {
	return policy{name: "SPSS 8/18/30 at 1.38/1.38/1.45", scheduler: pricing.ARMSName,
		prices: []float64{1.38, 1.38, 1.45}, baselines: []int{8, 18, 30}}
}

// playControl plays everything but the first regimes, rivals at 1.0, which have been played.
func playControl(ctx context.Context, o *suite.Options, r *suite.Report, main, first *match,
	zoo []*learned) (*control, error) {
	c := &control{zoo: zoo}
	with := func(w *world, policies []policy) *match { return &match{r: r, world: w, policies: policies} }
	for k, own := range []*match{main, first} {
		w := own.world
		list := []*regime{{"rivals at 1.0", own, own}}
		for _, p := range equal[:2-k] {
			list = append(list, &regime{"rivals at " + priceText(p), with(w, c.static(w, p)), own})
		}
		list = append(list, &regime{"each with its own PBA", with(w, withOwnPBA(w)), own})
		c.variants[k] = with(w, []policy{eager(w)})
		if k == 0 {
			c.paper = list
			c.variants[k].policies = append(c.variants[k].policies, capped(w))
		} else {
			c.outside = list
			c.variants[k].policies = append(c.variants[k].policies, best())
		}
	}
	c.sweep = levels(o, r, main.world, first.world)
	all := slices.Clone(c.variants[:])
	for _, r := range slices.Concat(c.paper[1:], c.outside[1:]) {
		all = append(all, r.match)
	}
	for _, l := range c.sweep {
		all = append(all, l.match)
	}
	if err := play(ctx, o, "control of prices", false, all...); err != nil {
		return nil, err
	}
	return c, c.playFinal(ctx, o)
}

// static are the rivals and the zoo's schedulers at prices.
func (c *control) static(w *world, prices []float64) []policy {
	return append(rivals(prices), schedulers(c.zoo, w, prices)...)
}

// playFinal plays the rivals at the prices where HOPS ended, in both profiles.
func (c *control) playFinal(ctx context.Context, o *suite.Options) error {
	var all []*match
	for k, list := range []*[]*regime{&c.paper, &c.outside} {
		own := (*list)[0].own
		prices := own.ends()
		c.final[k] = prices
		r := &regime{finalName, &match{r: own.r, world: own.world, policies: c.static(own.world, prices)}, own}
		last := len(*list) - 1 // PBA comes after all static prices
		*list = append((*list)[:last:last], r, (*list)[last])
		all = append(all, r.match)
	}
	return play(ctx, o, "rivals at HOPS' final prices", false, all...)
}

// ends are HOPS' prices in the last windows, the interquartile means over seeds to three decimals.
func (m *match) ends() []float64 {
	var out []float64
	for tier := range m.world.config.Tiers {
		x := stats.IQM(m.final(0, fmt.Sprintf("price_%d", tier+1), 1).Flat())
		out = append(out, float64(int(x*1000+0.5))/1000)
	}
	return out
}

// report writes the control's table, its figure and the sweep over price levels.
func (c *control) report(r *suite.Report) {
	t := report.Table{
		Name: "control", Title: "The same rivals at other prices",
		Note: "HOPS' profit less the policy's under the same workload, mean (95 %), with Holm's correction over the " +
			"policies of a regime. HOPS itself is the same in every regime of a profile: it learns its prices from 1/1/1 " +
			"within each episode.",
		Columns: report.Head("users", "regime", "policy", "profit [money]", "violations [% of jobs]", "charged switches",
			"all changes", "HOPS less it [money]", "HOPS is"),
	}
	for k, list := range [][]*regime{c.paper, c.outside} {
		users := users(k)
		t.Note += fmt.Sprintf(" Where users %s its final prices, means of the last %d windows, are %s.", users, tail,
			priceText(c.final[k]))
		for i, g := range list {
			if g.verdicts == nil {
				g.judge(users+": "+g.name, metrics[:2], g.own)
			}
			g.rows(&t, users, i == 0)
		}
		g := list[1]
		c.schedulers[k] = g.compare(users+": all at "+priceText(equal[0]), metrics[0], g.match, g.of(tunedName))
		other := &regime{"other settings", c.variants[k], list[0].own}
		other.judge(users+": "+other.name, metrics[:1], other.own)
		other.rows(&t, users, false)
	}
	r.Table(t)
	overWindows(r, "outside-profit-and-violations",
		"As Fig. 2 where users may stay away; rivals charge 1.0. Bands are 95 % intervals over seeds.",
		[]*match{c.outside[0].match}, false)
	c.figure(r)
	sweepFigure(r, c)
}

// rows adds a regime's policies to the table; HOPS' own line comes with the first.
func (g *regime) rows(t *report.Table, users string, first bool) {
	for i, p := range g.policies {
		cells := lists.From(metrics, func(q metric) any { return g.estimate(i, q.name, q.factor) })
		k := i
		if first {
			if i == 0 {
				t.Rows = append(t.Rows, append([]any{users, "from 1/1/1 by PBA", p.name}, append(cells, "", "")...))
				continue
			}
			k-- // HOPS is not compared with itself
		}
		v := &g.verdicts["profit"][k]
		t.Rows = append(t.Rows, append([]any{users, g.name, p.name}, append(cells, v.Interval(), v.Verdict)...))
	}
}

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
			prices := lists.Make(len(paperPrices), func(i int) float64 { return paperPrices[i] + x })
			out = append(out, &priceLevel{x, &match{r: r, world: w, policies: rivals(prices)}})
		}
	}
	return out
}

// figure shows every regime's profits, HOPS' own as a line through each, a figure per profile.
func (c *control) figure(r *suite.Report) {
	for k, list := range [][]*regime{c.paper, c.outside} {
		f := report.NewFigure([]string{"control-prices", "control-outside"}[k],
			[]string{
				"The same rivals at other prices, every user buying something: profit of each (95 % intervals) and, " +
					"as a vertical line, of HOPS, which learns its prices.",
				"The same where users may stay away, so that profit has an optimum in price.",
			}[k], chart.Figure{Columns: []int{3, 2}[k], Width: vg.Length(215), Height: vg.Length(50 + 14*len(list[0].own.policies))},
			"regime", "policy", "profit [money]")
		c.panels(f, list)
		r.Figure(*f)
	}
}

// panels are one profile's regimes, all on the same axis.
func (c *control) panels(f *report.Figure, list []*regime) {
	names := list[0].own.names()
	own := list[0].own.estimate(0, "profit", 1)
	lo, hi := own.Low, own.High
	for i, g := range list {
		panel := f.Panel(g.name, "profit (money)", "")
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
	}
	for _, p := range f.Chart.Panels {
		p.RangeX(lo, hi)
	}
}

// sweepFigure shows profit against the level of prices.
func sweepFigure(r *suite.Report, c *control) {
	f := report.NewFigure("control-level", "Profit against the level of prices: all rivals at 1.1/1.3/1.5 and so much more or less. "+
		"As eq. 1 is printed every user buys something, and profit rises with the price without end; where users may stay away it "+
		"has an optimum. Dashed: HOPS, which learns its prices.", chart.Figure{Columns: 2, Width: half, Height: height},
		"users", "policy", "shift [money per billing unit]", "profit [money]", "violations [% of jobs]")
	for i, p := range rivals(nil) {
		f.Chart.Key = append(f.Chart.Key, chart.Entry{Text: p.name, Style: chart.Styles(i + 1), Line: true, Band: true})
	}
	f.Chart.Key = append(f.Chart.Key, chart.Entry{Text: "HOPS", Style: faded(chart.Styles(0)), Line: true})
	for k, list := range [][]*regime{c.paper, c.outside} {
		users := users(k)
		own := list[0].own
		panel := f.Panel("users "+users, "prices less 1.1/1.3/1.5", "profit (money)")
		for i, p := range rivals(nil) {
			var x []float64
			var profit []report.Estimate
			for _, l := range c.sweep {
				if l.world != own.world {
					continue
				}
				e := l.estimate(i, "profit", 1)
				x, profit = append(x, l.shift), append(profit, e)
				f.Rows = append(f.Rows, []any{users, p.name, l.shift, e, l.estimate(i, "violation_rate", 100)})
			}
			report.Line(panel, chart.Styles(i+1), x, profit)
			if i == 0 {
				y := own.estimate(0, "profit", 1).At
				panel.Line(faded(chart.Styles(0)), []float64{x[0], x[len(x)-1]}, []float64{y, y}, false)
			}
		}
	}
	r.Figure(*f)
}
