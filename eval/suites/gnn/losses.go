package gnn

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
)

// against is the policy's slowdown in a setting over others'.
type against struct {
	own  []float64 // its slowdown, by workload seed
	best string    // the rule that is best there
	rel  []float64 // its slowdown over the best rule's
	sjf  []float64 // and over SJF's
}

// bestRule is the place of the rule with the least slowdown.
func bestRule(f *field) int {
	best, least := -1, 0.0
	for i := range f.players {
		if f.players[i].Kind == catalog.Learned {
			continue
		}
		if e := f.estimate(i, "slowdown").At; best < 0 || e < least {
			best, least = i, e
		}
	}
	return best
}

func (p *place) against(i int) against {
	over := func(x, y float64) float64 { return x / y }
	best := bestRule(p.field)
	return against{
		own: p.values(i, "slowdown"), best: p.players[best].Name,
		rel: p.slowdowns(i, best, over)[0], sjf: p.slowdowns(i, p.find(sjfName), over)[0],
	}
}

// reportPlaces is the table of all settings, the figure and the claim.
func reportPlaces(r *suite.Report, all []*place) {
	t := table.Table{
		Name: "settings", Title: "Slowdown in every setting",
		Note: "Interquartile means over the same workload seeds. The rules called “spread” give amounts by how many wait.",
		Columns: table.Head("kind", "setting", "trained there", "policy", "slowdown", "violations", "cold share",
			"cost"+perRequest+" [USD]"),
	}
	yes := map[bool]string{true: "yes", false: "no"}
	for _, p := range all {
		for i := range p.players {
			row := []any{p.kind, p.name, yes[p.known && len(learned(p.field)) > 0], p.players[i].Name}
			for _, q := range []string{"slowdown", "violations", "cold share", "cost" + perRequest} {
				row = append(row, p.estimate(i, q))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	r.Table(t)
	var lost []loss
	if len(learned(all[0].field)) > 0 {
		lost = losses(r, all)
	} else {
		rulesFigure(r, all)
	}
	suite.Judge(r, lost, lossClaims)
	if lost != nil {
		r.Note("the best rule of a setting is chosen by the same episodes: that favours the rule a little")
	}
}

// lossClaims are about other workloads and systems, not about loads: at a higher load every policy is slower. The two
// readings are the slowdown over the best rule's, and the slowdown itself.
var lossClaims = []suite.Statement[[]loss]{{
	Claim: "performance stays within 15 % of the training scenario on workloads that differ in functions, arrivals " +
		"and demands",
	Parts: []suite.Part[[]loss]{
		{Rule: suite.Under(paperLoss), Measure: lostRatios, Lead: "what its slowdown over the best rule's loses: "},
		{Measure: aheadOf, Lead: ". Ahead of the best rule in: "},
		{Rule: suite.Under(paperLoss), Measure: lostSlowdowns,
			Lead: ". Read as the slowdown itself, whatever rules come to there, it "},
	},
	None: nobody,
}}

// loss is what the policy loses in a setting from where it was trained, in %: of its slowdown over the best rule's,
// and of the slowdown itself.
type loss struct {
	*place
	over            table.Estimate // its slowdown over the best rule's
	ratio, slowdown table.Estimate
	counts          bool // it is a setting that the claim is about
}

func lostRatios(all []loss, rule suite.Rule) (out []suite.Finding) {
	for _, l := range all {
		if l.counts {
			text := fmt.Sprintf("%s %s %% (slowdown itself %s %%)", l.place.name, l.ratio, l.slowdown)
			out = append(out, suite.Finding{Text: text, Verdict: rule(l.ratio)})
		}
	}
	return out
}

// lostSlowdowns is the other reading; it is worded where its verdict differs from the first one's.
func lostSlowdowns(all []loss, rule suite.Rule) (out []suite.Finding) {
	first, second := suite.Holds, suite.Holds
	for _, l := range all {
		if l.counts {
			word := rule(l.slowdown)
			first, second = suite.All(first, rule(l.ratio)), suite.All(second, word)
			out = append(out, suite.Finding{Verdict: word, Reading: "slowdown"})
		}
	}
	if first != second {
		out = append(out, suite.Finding{Text: second})
	}
	return out
}

func aheadOf(all []loss, _ suite.Rule) []suite.Finding {
	var ahead, behind []string
	for _, l := range all {
		switch {
		case l.over.High < 1:
			ahead = append(ahead, l.place.name)
		case l.over.Low > 1:
			behind = append(behind, l.place.name)
		}
	}
	if all == nil {
		return nil
	}
	return []suite.Finding{{Text: orNone(ahead) + "; behind in: " + orNone(behind)}}
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// losses compares the policy with the rules in every setting, with what it was where it was trained.
func losses(r *suite.Report, all []*place) (out []loss) {
	home := all[0].against(learned(all[0].field)[0])
	f := suite.Figure{
		Name: "generalise",
		Caption: "The policy over graphs in settings that it was not trained in (the first line, and loads marked *, are " +
			"those of its training): its slowdown over the best rule's and over SJF's. Left of 1 it is ahead. 95 % " +
			"intervals.",
		Chart: &chart.Figure{Columns: 2, Width: vg.Length(300), Height: vg.Length(50 + 14*len(all))},
		Columns: table.Head("kind", "setting", "best rule", "over the best rule's", "over SJF's", "loss of the ratio [%]",
			"loss of the slowdown [%]"),
	}
	panels := []*chart.Panel{
		chart.NewPanel("", "slowdown over the best rule's", ""), chart.NewPanel("", "slowdown over SJF's", ""),
	}
	var names []string
	for _, p := range all {
		name := p.name
		if p.known {
			name += " *"
		}
		names = append(names, name)
	}
	for k, panel := range panels {
		panel.Names(names, k > 0)
		panel.MarginX = 0.06
		panel.Rule(1)
		panel.TicksX(5)
	}
	for line, p := range all {
		l := learned(p.field)
		if len(l) == 0 {
			none := table.None()
			f.Rows = append(f.Rows, []any{p.kind, p.name, "", none, none, none, none})
			continue
		}
		a := p.against(l[0])
		sjf := r.Estimate(stats.Scores{a.sjf})
		lost := loss{
			place: p, over: r.Estimate(stats.Scores{a.rel}), counts: !p.known && p.kind != "load",
			ratio: r.Estimate(change(a.rel, home.rel)), slowdown: r.Estimate(change(a.own, home.own)),
		}
		out = append(out, lost)
		panels[0].Interval(chart.Styles(0), line, chart.Range(lost.over))
		panels[1].Interval(chart.Styles(1), line, chart.Range(sjf))
		f.Rows = append(f.Rows, []any{p.kind, p.name, a.best, lost.over, sjf, lost.ratio, lost.slowdown})
		where := "4.3, " + p.kind
		quantity := fmt.Sprintf("slowdown over that of %s, the best rule, %s", a.best, p.name)
		r.Measured(suite.Row{Figure: where, Quantity: quantity, Unit: "1"}, stats.Scores{a.rel})
		if lost.counts {
			r.Measured(suite.Row{
				Figure: where, Quantity: "loss against the best rule, " + p.name, Unit: "%", Paper: new(paperLoss),
				Note: "the paper: at most",
			}, change(a.rel, home.rel))
			p.compare(l[0], quantities[0], withAll)
		}
	}
	f.Chart.Panels = panels
	r.Figure(f)
	return out
}

// rulesFigure shows the rules in all settings where no trained policy plays.
func rulesFigure(r *suite.Report, all []*place) {
	players := all[0].players
	f := suite.Figure{
		Name: "generalise", Caption: "The rules in every setting; no trained policy plays. 95 % intervals.",
		Chart:   &chart.Figure{Columns: 4, Width: vg.Length(170), Height: vg.Length(50 + 14*len(all))},
		Columns: table.Head("kind", "setting", "policy", "slowdown"),
	}
	var names []string
	for _, p := range all {
		names = append(names, p.name)
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range players {
		panel := chart.NewPanel(players[i].Name, "slowdown", "")
		panel.LogX()
		panel.Names(names, i%f.Chart.Columns > 0)
		panel.MarginX = 0.06
		for line, p := range all {
			e := p.estimate(i, "slowdown")
			f.Rows = append(f.Rows, []any{p.kind, p.name, players[i].Name, e})
			lo, hi = min(lo, e.Low), max(hi, e.High)
			panel.Interval(chart.Styles(i), line, chart.Range(e))
		}
		f.Chart.Panels = append(f.Chart.Panels, panel)
	}
	for _, p := range f.Chart.Panels {
		p.RangeX(lo, hi)
	}
	r.Figure(f)
}
