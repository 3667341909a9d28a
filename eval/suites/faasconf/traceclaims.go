package faasconf

import (
	"fmt"

	"github.com/stoker-rl/stoker/eval/suite"
)

// ours are the policies that stand for FaaSConf's: the shipped one, its learner with as many steps as the others, and the
// paper's learner.
var ours = []string{shippedName, ppoName, oursName}

// each measures all of ours.
func each(measure func(t *trace, name string, rule suite.Rule) suite.Finding) func(*trace, suite.Rule) []suite.Finding {
	return func(t *trace, rule suite.Rule) (out []suite.Finding) {
		for _, name := range ours {
			f := measure(t, name, rule)
			f.Text = name + ": " + f.Text
			out = append(out, f)
		}
		return out
	}
}

// traceClaims are those of §5.2.2.
var traceClaims = []suite.Statement[*trace]{
	{Claim: "on 85 minutes of a trace FaaSConf keeps over 74.12 % of windows", Parts: []suite.Part[*trace]{
		{Rule: suite.Over(paperKept), Measure: each(func(t *trace, name string, rule suite.Rule) suite.Finding {
			e := estimate(t.kept(name))
			return suite.Finding{Text: fmt.Sprintf("%s %%", e), Verdict: rule(e)}
		})},
	}},
	{Claim: "it violates 3.48 times less than Firm, RAMBO and Aquatope on average", Parts: []suite.Part[*trace]{
		{Rule: suite.Under(-100 * (1 - 1/paperFewer)), Measure: each(
			func(t *trace, name string, rule suite.Rule) suite.Finding {
				e := estimate(relative(t.scores(name, "violated", 1), t.published("violated")))
				return suite.Finding{Text: fmt.Sprintf("%s %% of change, −71.3 %% is 3.48 times less", e), Verdict: rule(e)}
			})},
	}},
	{Claim: "it costs at most 8.48 % more than the oracle", Parts: []suite.Part[*trace]{
		{Rule: suite.Under(paperOverOracle), Measure: each(func(t *trace, name string, rule suite.Rule) suite.Finding {
			e := estimate(relative(t.scores(name, "price", 1), t.scores(oracleName, "price", 1)))
			return suite.Finding{Text: fmt.Sprintf("%s %%", e), Verdict: rule(e)}
		})},
	}},
	{Claim: "its cumulative latency is below that of Firm (29.1 %), RAMBO (33.39 %) and Aquatope (26.53 %)",
		Parts: []suite.Part[*trace]{{Rule: suite.Under(0), Measure: func(t *trace, rule suite.Rule) (out []suite.Finding) {
			for _, name := range ours {
				for _, m := range paperMinutes {
					e := estimate(relative(t.scores(name, "latency", 1), t.scores(m.rival, "latency", 1)))
					out = append(out, suite.Finding{Text: fmt.Sprintf("%s against %s: %s %%", name, m.rival, e), Verdict: rule(e)})
				}
			}
			return out
		}}}},
}

// published are the scores of the paper's three rivals, all versions together.
func (t *trace) published(quantity string) (out [][]float64) {
	for _, m := range paperMinutes {
		rows := t.scores(m.rival, quantity, 1)
		out = append(out, meanOver(rows))
	}
	return out
}
