package gnn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/suite"
)

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
	{
		Claim: "at 70 % load slowdown is reduced by 35 % compared to FCFS, 28 % to SJF, 24 % to Packer and 18 % to Tetris",
		Parts: []nodesPart{{Measure: effectsOf(bySlowdown)}}, None: nobody,
	},
	{
		Claim: "across all loads utilisation is 28 % higher than FCFS', 19 % than SJF's and 12 % than Tetris'",
		Parts: []nodesPart{
			{Measure: effectsOf(byEfficiency), Lead: "as it is defined there, used over allocated: "},
			{Measure: effectsOf(byUse), Lead: ". As used over capacity: "},
		},
		None: nobody,
	},
	{
		Claim: "cold starts are reduced by 41 % compared to reactive baselines and 23 % to Tetris",
		Parts: []nodesPart{{Measure: effectsOf(byCold)}}, None: nobody,
	},
	{
		Claim: "cost is reduced by 31 % compared to traditional heuristics",
		Parts: []nodesPart{{Measure: effectsOf(byCost)}}, None: nobody,
	},
	{
		Claim: "implied by the four reductions: at 70 % FCFS is worse than SJF, SJF than Packer, Packer than Tetris",
		Parts: []nodesPart{{Rule: suite.Over(1), Measure: order, Sep: ", "}},
	},
	{
		Claim: "above 110 % and up to 190 % it outperforms all baselines significantly",
		Parts: []nodesPart{{Measure: overload, Lead: "slowdown at load "}}, None: nobody,
	},
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
		out = append(out, suite.Finding{
			Text: fmt.Sprintf("%s has %s times the slowdown of %s", pair[0], x, pair[1]), Verdict: rule(x),
		})
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
