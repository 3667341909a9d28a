package gnn

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
)

// nodesSize says how much is played on the cluster of unlike nodes.
type nodesSize struct {
	loads    []float64
	gnn, dqn *trained
	// change, where set, makes the cluster another one.
	change func(*placement.Config)
}

// quantities are what the paper's prose is about, and what verdicts are of.
var quantities = []eval.Metric{
	{Name: "slowdown", Unit: "1", Better: envs.Lower},
	{Name: "utilisation", Unit: "1", Better: envs.Higher},
	{Name: "cost" + perRequest, Unit: "USD", Better: envs.Lower},
	{Name: "cold share", Unit: "1", Better: envs.Lower},
	{Name: "violations", Unit: "1", Better: envs.Lower},
	{Name: "efficiency", Unit: "1", Better: envs.Higher},
}

// onNodes plays the serverless mode over loads.
func onNodes(ctx context.Context, o *suite.Options, r *suite.Report, size nodesSize) error {
	s := &sweep{}
	for k, load := range size.loads {
		w := newWorld()
		w.config.Load = load
		if size.change != nil {
			size.change(&w.config)
		}
		f, err := newField(r, fmt.Sprintf("unlike nodes, load %.0f %%", 100*load), w, k == 0, size.gnn, size.dqn)
		if err != nil {
			return err
		}
		s.loads, s.fields = append(s.loads, 100*load), append(s.fields, f)
	}
	if size.gnn == nil {
		r.Note("%s", missing(gnnName))
	}
	if size.dqn == nil {
		r.Note("%s", missing(dqnName))
	}
	r.Note("the paper's serverless cluster is not published: the cluster of unlike nodes (docs/placement.md) is ours, " +
		"and its rules choose nodes and know nominal amounts only, those called “spread” aside")
	if err := play(ctx, o, "unlike nodes", 1, s.fields...); err != nil {
		return err
	}
	nodesFigure(r, s)
	nodesRows(r, s)
	gnn := zoo.Prefix + gnnName
	suite.Judge(r, &nodesEvidence{s, gnn, s.fields[0].find(gnn), nodesVerdicts(s)}, nodesClaims)
	return nil
}

// newField are the policies that fit in a world, and the rules. Why one does not is noted where say is set.
func newField(r *suite.Report, name string, w *world, say bool, policies ...*trained) (*field, error) {
	f := &field{r: r, name: name}
	for _, t := range policies {
		if t == nil {
			continue
		}
		p, why := t.onNodes(w)
		if why == "" {
			f.players = append(f.players, p)
		} else if say {
			r.Note("%s does not play on %s: %s", t.Source, name, why)
		}
	}
	list, err := nodeRules(w)
	f.players = append(f.players, list...)
	return f, err
}

// nodesFigure is every quantity at every load.
func nodesFigure(r *suite.Report, s *sweep) {
	players := s.fields[0].players
	f := report.NewFigure("nodes-loads", "The cluster of unlike nodes over the load: interquartile means with 95 % intervals. "+
		"Slowdown on a logarithmic axis; utilisation is used over capacity, efficiency work done over CPU held (what a larger "+
		"amount, a cold start or a transfer wastes), cold share cold starts over all starts.",
		chart.Figure{Columns: 3, Width: third, Height: height}, "load [%]", "policy")
	s.fields[0].named(f)
	cells := make([][]any, len(s.loads)*len(players))
	for k := range s.loads {
		for i := range players {
			cells[k*len(players)+i] = []any{s.loads[k], players[i].Name}
		}
	}
	for _, q := range quantities {
		f.Columns = append(f.Columns, report.Column{Name: q.Name, Unit: strings.TrimPrefix(q.Unit, "1")})
		label := q.Name
		if q.Unit != "1" {
			label += " (" + q.Unit + ")"
		}
		panel := f.Panel("", "load (%)", label)
		if q.Name == "slowdown" {
			panel.LogY()
		} else {
			panel.RangeY(0, 0)
		}
		for i := range players {
			var e []report.Estimate
			for k, g := range s.fields {
				e = append(e, g.estimate(i, q.Name))
				cells[k*len(players)+i] = append(cells[k*len(players)+i], e[k])
			}
			report.Line(panel, chart.Styles(i), s.loads, e)
		}
	}
	f.Rows = cells
	r.Figure(*f)
}

// effect is a difference that the paper states, of its policy from a rule.
type effect struct {
	quantity string
	rivals   []string // their mean, where there are several
	percent  float64  // of the rival's
	all      bool     // over all loads, else at 70 %
	claim    int      // which statement it belongs to
}

// Statements with effects.
const (
	bySlowdown = iota
	byUse
	byEfficiency
	byCold
	byCost
)

var effects = []effect{
	{"slowdown", []string{fcfsName}, -35, false, bySlowdown},
	{"slowdown", []string{sjfName}, -28, false, bySlowdown},
	{"slowdown", []string{packerName}, -24, false, bySlowdown},
	{"slowdown", []string{tetrisName}, -18, false, bySlowdown},
	{"utilisation", []string{fcfsName}, 28, true, byUse},
	{"utilisation", []string{sjfName}, 19, true, byUse},
	{"utilisation", []string{tetrisName}, 12, true, byUse},
	{"efficiency", []string{fcfsName}, 28, true, byEfficiency},
	{"efficiency", []string{sjfName}, 19, true, byEfficiency},
	{"efficiency", []string{tetrisName}, 12, true, byEfficiency},
	{"cold starts", []string{fcfsName, sjfName, packerName}, -41, true, byCold},
	{"cold starts", []string{tetrisName}, -23, true, byCold},
	{"cost", []string{fcfsName, sjfName, packerName, tetrisName}, -31, true, byCost},
}

// at is where an effect is measured, in words.
func (e *effect) at(s *sweep) string {
	if e.all {
		return "all loads"
	}
	return fmt.Sprintf("load %.0f %%", s.loads[s.nearest(70)])
}

// of is a player's values where the effect is measured.
func (e *effect) of(s *sweep, i int) []float64 {
	if e.all {
		return s.total(i, e.quantity)
	}
	return s.fields[s.nearest(70)].values(i, e.quantity)
}

// measured is the effect of player i, in per cent of the rivals' mean, by workload seed.
func (e *effect) measured(s *sweep, i int) stats.Scores {
	a := e.of(s, i)
	b := make([]float64, len(a))
	for _, name := range e.rivals {
		for j, x := range e.of(s, s.fields[0].find(name)) {
			b[j] += x / float64(len(e.rivals))
		}
	}
	return change(a, b)
}

// nodesRows are the paper's effects beside ours, the values of all players at three loads, and what its effects imply
// of rules.
func nodesRows(r *suite.Report, s *sweep) {
	for _, i := range learned(s.fields[0]) {
		p := &s.fields[0].players[i]
		for k := range effects {
			e := &effects[k]
			row := suite.Row{
				Figure: "4.2, " + e.at(s), Unit: "%", Paper: &e.percent,
				Quantity: fmt.Sprintf("%s, %s against %s", e.quantity, p.Name, strings.Join(e.rivals, ", ")),
			}
			if p.Name != zoo.Prefix+gnnName {
				row.Paper = nil // the paper's are its own policy's
			}
			r.Measured(row, e.measured(s, i))
		}
	}
	for _, load := range []float64{70, 130, 190} {
		f := s.fields[s.nearest(load)]
		for i := range f.players {
			quantity := fmt.Sprintf("slowdown at load %.0f %%, %s", s.loads[s.nearest(load)], f.players[i].Name)
			r.Measured(suite.Row{Figure: "4.2, unlike nodes", Quantity: quantity, Unit: "1"},
				stats.Scores{f.values(i, "slowdown")})
		}
	}
	f := s.fields[s.nearest(70)]
	for _, x := range implied {
		r.Measured(suite.Row{
			Figure: "4.2, " + f.name, Quantity: fmt.Sprintf("slowdown of %s over that of Tetris", x.rule), Unit: "1",
			Paper: new(x.times),
			Note:  "the paper's is what its reductions of 35, 28, 24 and 18 % imply",
		}, ratio(f, x.rule, tetrisName))
	}
}

// implied are rules' slowdowns over Tetris' that the four reductions imply: (1 − 0.18)/(1 − 0.35) and so on.
var implied = []struct {
	rule  string
	times float64
}{{fcfsName, 0.82 / 0.65}, {sjfName, 0.82 / 0.72}, {packerName, 0.82 / 0.76}}

// ratio is one rule's slowdown over another's, by workload seed.
func ratio(f *field, a, b string) stats.Scores {
	return f.slowdowns(f.find(a), f.find(b), func(x, y float64) float64 { return x / y })
}

// nodesVerdicts compares the trained policies with the rules, or Tetris where there is none: slowdown at every load,
// all else at three.
func nodesVerdicts(s *sweep) []suite.Comparison {
	var out []suite.Comparison
	three := []int{s.nearest(70), s.nearest(130), s.nearest(190)}
	for k, f := range s.fields {
		for _, a := range comparedIn(f, tetrisName) {
			for n, q := range quantities {
				if n == 0 || slices.Contains(three, k) {
					out = append(out, f.compare(a, q, withAll)...)
				}
			}
		}
	}
	return out
}

// nodesEvidence is what the claims about the serverless mode are measured from: they are about the policy over graphs.
type nodesEvidence struct {
	*sweep
	name     string // the policy's
	gnn      int    // its place, −1 where it does not play
	verdicts []suite.Comparison
}

type nodesPart = suite.Part[*nodesEvidence]

// nodesClaims are the paper's prose on the serverless mode. The numbers are the table effects.
var nodesClaims = []suite.Statement[*nodesEvidence]{
	suite.Says("at 70 % load slowdown is reduced by 35 % compared to FCFS, 28 % to SJF, 24 % to Packer and 18 % to Tetris",
		nil, effectsOf(bySlowdown)).Else(nobody),
	{
		Claim: "across all loads utilisation is 28 % higher than FCFS', 19 % than SJF's and 12 % than Tetris'",
		Parts: []nodesPart{
			{Measure: effectsOf(byEfficiency), Lead: "as it is defined there, used over allocated: "},
			{Measure: effectsOf(byUse), Lead: ". As used over capacity: "},
		},
		None: nobody,
	},
	suite.Says("cold starts are reduced by 41 % compared to reactive baselines and 23 % to Tetris",
		nil, effectsOf(byCold)).Else(nobody),
	suite.Says("cost is reduced by 31 % compared to traditional heuristics", nil, effectsOf(byCost)).Else(nobody),
	{
		Claim: "implied by the four reductions: at 70 % FCFS is worse than SJF, SJF than Packer, Packer than Tetris",
		Parts: []nodesPart{{Rule: suite.Over(1), Measure: order, Sep: ", "}},
	},
	suite.Says("above 110 % and up to 190 % it outperforms all baselines significantly",
		nil, overload).Led("slowdown at load ").Else(nobody),
}

// effectsOf holds a statement's effects against ours; statements with several readings of a quantity depend where
// these differ.
func effectsOf(claim int) func(*nodesEvidence, suite.Rule) []suite.Finding {
	return func(e *nodesEvidence, _ suite.Rule) (out []suite.Finding) {
		for k := range effects {
			x := &effects[k]
			if x.claim != claim || e.gnn < 0 {
				continue
			}
			found := e.fields[0].r.Estimate(x.measured(e.sweep, e.gnn))
			word := suite.Reaches(x.percent)(found)
			out = append(out, suite.Finding{
				Text:    fmt.Sprintf("%s %% against %s (%s)", found, strings.Join(x.rivals, ", "), word),
				Verdict: word, Reading: x.quantity,
			})
		}
		return out
	}
}

// order is each rule's slowdown over that of the next better one, as the four reductions order them.
func order(e *nodesEvidence, rule suite.Rule) (out []suite.Finding) {
	f := e.fields[e.nearest(70)]
	for _, pair := range [][2]string{{fcfsName, sjfName}, {sjfName, packerName}, {packerName, tetrisName}} {
		x := f.r.Estimate(ratio(f, pair[0], pair[1]))
		out = append(out, suite.Found(rule(x), "%s has %s times the slowdown of %s", pair[0], x, pair[1]))
	}
	return out
}

// overload is the policy against the paper's rules above 110 %.
func overload(e *nodesEvidence, _ suite.Rule) (out []suite.Finding) {
	papers := []string{fcfsName, sjfName, packerName, tetrisName}
	for k, f := range e.fields {
		if e.loads[k] < 109 || e.gnn < 0 {
			continue
		}
		var not []string
		for _, v := range e.verdicts {
			if v.Setting != f.name || v.Metric != "slowdown" || v.A != e.name || !slices.Contains(papers, v.B) {
				continue
			}
			out = append(out, suite.Finding{Verdict: suite.Of(v.Verdict)})
			if v.Verdict != eval.Better {
				not = append(not, fmt.Sprintf("%s (%s)", v.B, v.Verdict))
			}
		}
		word := "better than all"
		if len(not) > 0 {
			word = "not better than " + strings.Join(not, ", ")
		}
		out = append(out, suite.Finding{Text: fmt.Sprintf("%.0f %%: %s", e.loads[k], word)})
	}
	return out
}
