package hops

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
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
	var out []string
	for _, x := range p {
		out = append(out, fmt.Sprintf("%.4g", x))
	}
	return strings.Join(out, "/")
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
	t := table.Table{
		Name: "control", Title: "The same rivals at other prices",
		Note: "HOPS' profit less the policy's under the same workload, mean (95 %), with Holm's correction over the " +
			"policies of a regime. HOPS itself is the same in every regime of a profile: it learns its prices from 1/1/1 " +
			"within each episode.",
		Columns: table.Head("users", "regime", "policy", "profit [money]", "violations [% of jobs]", "charged switches",
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
func (g *regime) rows(t *table.Table, users string, first bool) {
	for i, p := range g.policies {
		var cells []any
		for _, q := range metrics {
			cells = append(cells, g.estimate(i, q.name, q.factor))
		}
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
