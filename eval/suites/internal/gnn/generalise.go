package gnn

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
)

// Generalise returns the suite that plays the policy where it was not trained.
func Generalise() suite.Suite {
	return suite.Suite{
		Name: "gnn-generalise",
		Doc: "the policy over graphs on workloads, systems and loads that it was not trained on, and transfer after a " +
			"fifth of the training",
		Paper: paper, Seeds: 40, QuickSeeds: 10, Run: runGeneralise,
	}
}

// Of the paper: at most 15 % worse than where it was trained, and 92 % of the performance after 20 % of the training.
const (
	paperLoss     = 15.0
	paperTransfer = 92.0
	paperBudget   = 20.0
)

// generalSize says how much is played.
type generalSize struct {
	gnn, scratch, transfer *trained
	kinds                  []string
	systems                []uint64
	loads                  []float64
	load                   float64 // of everything but the loads
	data                   string
	change                 func(*placement.Config)
}

func runGeneralise(ctx context.Context, o suite.Options, r *suite.Report) error {
	size := generalSize{
		kinds: []string{
			placement.Poisson, placement.Bursty, placement.Periodic, placement.Mixed, placement.Azure, placement.TPCH,
		},
		systems: []uint64{2, 3, 4}, loads: []float64{0.1, 0.3, 0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 1.7, 1.9, 2.2, 2.5},
		load: 0.7, data: o.Data,
	}
	if o.Quick {
		size.systems, size.loads = []uint64{2}, []float64{0.1, 0.7, 1.3, 1.9, 2.5}
	}
	for _, x := range []struct {
		at   **trained
		name string
	}{{&size.gnn, gnnName}, {&size.scratch, scratchName}, {&size.transfer, transferName}} {
		var err error
		if *x.at, err = fromZoo(x.name); err != nil {
			return err
		}
		if *x.at == nil {
			r.Note("%s", missing(x.name))
		}
	}
	return generalise(ctx, &o, r, size)
}

// place is a setting where the policy plays.
type place struct {
	kind  string // workload, system or load
	name  string
	world *world
	*field
	known bool // it was trained there
}

// places lists the settings, the trained one first.
func places(r *suite.Report, size generalSize) ([]*place, error) {
	base := newWorld()
	base.config.Load = size.load
	trainedOn := []string{placement.Steady}
	lo, hi := 0.0, 0.0
	if size.gnn != nil {
		own := size.gnn.serverless()
		if own == nil {
			return nil, fmt.Errorf("%s was trained in %s, want %s", size.gnn.Source, size.gnn.Experiment.Env.Name, placement.ID)
		}
		trainedOn[0] = own.Workload
		base.config.Workload, base.config.System = own.Workload, own.System
		lo, hi = own.Load, max(own.Load, own.LoadTo)
	}
	if size.change != nil {
		size.change(&base.config)
	}
	out := []*place{{kind: "trained", name: trainedOn[0], world: base, known: true}}
	add := func(kind, name string, change func(*placement.Config)) {
		w := *base
		change(&w.config)
		out = append(out, &place{kind: kind, name: name, world: &w})
	}
	for _, k := range size.kinds {
		path := ""
		switch {
		case k == base.config.Workload:
			continue
		case k == placement.TPCH && size.data == "":
			r.Note("TPC-H's jobs are not played: they need --data with dags/tpch_dags_summary.json")
			continue
		case k == placement.TPCH:
			path = filepath.Join(size.data, "dags", "tpch_dags_summary.json")
			if _, err := os.Stat(path); err != nil {
				return nil, suite.Usage("--data: there is no %s, TPC-H's jobs", path)
			}
		}
		add("workload", k, func(c *placement.Config) { c.Workload, c.TPCH.Path = k, path })
	}
	for _, s := range size.systems {
		if s != base.config.System {
			add("system", fmt.Sprintf("system %d", s), func(c *placement.Config) { c.System = s })
		}
	}
	outside := 0
	for _, l := range size.loads {
		add("load", fmt.Sprintf("load %.0f %%", 100*l), func(c *placement.Config) { c.Load = l })
		p := out[len(out)-1]
		if p.known = size.gnn != nil && l >= lo-1e-9 && l <= hi+1e-9; !p.known {
			outside++
		}
	}
	if size.gnn != nil {
		r.Note("%s was trained on %s arrivals of system %d at loads from %.0f to %.0f %%, for %d steps; %d of the loads "+
			"here lie outside",
			size.gnn.Source, base.config.Workload, base.config.System, 100*lo, 100*hi, size.gnn.Steps(), outside)
	}
	return out, nil
}

func generalise(ctx context.Context, o *suite.Options, r *suite.Report, size generalSize) error {
	all, err := places(r, size)
	if err != nil {
		return err
	}
	var fields []*field
	for k, p := range all {
		name := p.name
		if p.kind != "load" {
			name = fmt.Sprintf("%s, load %.0f %%", p.name, 100*p.world.config.Load)
		}
		if p.field, err = newField(r, name, p.world, true, size.gnn); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if size.gnn != nil && k == 0 && len(learned(p.field)) == 0 {
			return fmt.Errorf("%s does not play where it was trained: see the notes", size.gnn.Source)
		}
		fields = append(fields, p.field)
	}
	move, err := newTransfer(r, size)
	if err != nil {
		return err
	}
	if move.field != nil {
		fields = append(fields, move.field)
	}
	if err := play(ctx, o, "settings", 1, fields...); err != nil {
		return err
	}
	reportPlaces(r, all)
	move.report(r)
	return nil
}

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
	t := report.Table{
		Name: "settings", Title: "Slowdown in every setting",
		Note: "Interquartile means over the same workload seeds. The rules called “spread” give amounts by how many wait.",
		Columns: report.Head("kind", "setting", "trained there", "policy", "slowdown", "violations", "cold share",
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
	over            report.Estimate // its slowdown over the best rule's
	ratio, slowdown report.Estimate
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
	return []suite.Finding{{Text: report.List(ahead, "none") + "; behind in: " + report.List(behind, "none")}}
}

// losses compares the policy with the rules in every setting, with what it was where it was trained.
func losses(r *suite.Report, all []*place) (out []loss) {
	home := all[0].against(learned(all[0].field)[0])
	f := report.NewFigure("generalise", "The policy over graphs in settings that it was not trained in (the first line, and loads "+
		"marked *, are those of its training): its slowdown over the best rule's and over SJF's. Left of 1 it is ahead. 95 % "+
		"intervals.", chart.Figure{Columns: 2, Width: vg.Length(300), Height: vg.Length(50 + 14*len(all))},
		"kind", "setting", "best rule", "over the best rule's", "over SJF's", "loss of the ratio [%]", "loss of the slowdown [%]")
	panels := []*chart.Panel{f.Panel("", "slowdown over the best rule's", ""), f.Panel("", "slowdown over SJF's", "")}
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
			none := report.None()
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
	r.Figure(*f)
	return out
}

// rulesFigure shows the rules in all settings where no trained policy plays.
func rulesFigure(r *suite.Report, all []*place) {
	players := all[0].players
	f := report.NewFigure("generalise", "The rules in every setting; no trained policy plays. 95 % intervals.",
		chart.Figure{Columns: 4, Width: vg.Length(170), Height: vg.Length(50 + 14*len(all))}, "kind", "setting", "policy", "slowdown")
	names := lists.From(all, func(p *place) string { return p.name })
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range players {
		panel := f.Panel(players[i].Name, "slowdown", "")
		panel.LogX()
		panel.Names(names, i%f.Chart.Columns > 0)
		panel.MarginX = 0.06
		for line, p := range all {
			e := p.estimate(i, "slowdown")
			f.Rows = append(f.Rows, []any{p.kind, p.name, players[i].Name, e})
			lo, hi = min(lo, e.Low), max(hi, e.High)
			panel.Interval(chart.Styles(i), line, chart.Range(e))
		}
	}
	for _, p := range f.Chart.Panels {
		p.RangeX(lo, hi)
	}
	r.Figure(*f)
}
