package faasconf

import (
	"fmt"

	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
)

// motivationClaims are those of §2.2. For the limit and the neighbours the rules ask for the direction; the rows have
// the paper's numbers.
var motivationClaims = []suite.Statement[*motivation]{
	{Claim: "latency grows with concurrent users: ×10.1 from 3 to 30", Parts: []suite.Part[*motivation]{
		{Rule: suite.Reaches(paperCrowd), Measure: func(m *motivation, rule suite.Rule) []suite.Finding {
			out := make([]float64, len(m.crowd[0]))
			for i := range out {
				out[i] = m.crowd[len(few)-1][i] / m.crowd[0][i]
			}
			e := interval(out)
			return []suite.Finding{{Text: fmt.Sprintf("× %s", e), Verdict: rule(e)}}
		}},
	}},
	{Claim: "a concurrency limit of 3 lowers mean latency (26.65 %) and p95 (42.77 %) and raises throughput (19.35 %)",
		Parts: []suite.Part[*motivation]{
			{Rule: suite.Under(0), Lead: "mean latency ", Measure: change(func(m *motivation) (a, b [][]float64) {
				return m.meanOn, m.meanOff
			})},
			{Rule: suite.Under(0), Lead: "; p95 ", Measure: change(func(m *motivation) (a, b [][]float64) {
				return m.tailOn, m.tailOff
			})},
			{Rule: suite.Over(0), Lead: "; successes ", Measure: change(func(m *motivation) (a, b [][]float64) {
				return m.countOn, m.countOff
			})},
		}},
	{Claim: "the best concurrency limit depends on the hardware", Parts: []suite.Part[*motivation]{
		{Measure: func(m *motivation, _ suite.Rule) []suite.Finding {
			var best []int
			differ := false
			for a := range cores {
				at := m.bestLimit(a)
				best = append(best, limits[at])
				differ = differ || best[a] != best[0]
			}
			return []suite.Finding{{Text: fmt.Sprintf("best limits at %v millicores: %v", cores, best),
				Verdict: suite.If(differ)}}
		}},
	}},
	{Claim: "others' configurations change a function's p75 by 1.5 to 8.5 times", Parts: []suite.Part[*motivation]{
		{Rule: suite.Over(1), Measure: func(m *motivation, rule suite.Rule) []suite.Finding {
			least, most := m.extremes()
			a, b := interval(least), interval(most)
			return []suite.Finding{{Text: fmt.Sprintf("by %s to %s times", a, b), Verdict: rule(a)}}
		}},
	}},
}

// tuningClaims are those of Fig. 2.
var tuningClaims = []suite.Statement[*tuning]{
	{Claim: "tuning each function by itself does not keep the workflow's QoS", Parts: []suite.Part[*tuning]{
		{Measure: func(t *tuning, _ suite.Rule) []suite.Finding {
			kept := 100 * mean(t.kept[0])
			return []suite.Finding{{Text: fmt.Sprintf("kept in %.3g %% of fresh windows", kept), Verdict: suite.If(kept < 50)}}
		}},
	}},
	{Claim: "holistic tuning is 29.34 % cheaper than tuning one function after another", Parts: []suite.Part[*tuning]{
		{Rule: suite.Over(0), Measure: func(t *tuning, rule suite.Rule) []suite.Finding {
			e := estimate(t.saved())
			return []suite.Finding{{Text: fmt.Sprintf("%s %%", e), Verdict: rule(e)}}
		}},
	}},
}

// interval is the interquartile mean over seeds with its 95 % interval.
func interval(x []float64) table.Estimate { return estimate(stats.Scores{x}) }

// change measures the change of x against y, in percent.
func change(of func(*motivation) (x, y [][]float64)) func(*motivation, suite.Rule) []suite.Finding {
	return func(m *motivation, rule suite.Rule) []suite.Finding {
		x, y := of(m)
		e := estimate(changes(meanOver(x), meanOver(y)))
		return []suite.Finding{{Text: fmt.Sprintf("%s %%", e), Verdict: rule(e)}}
	}
}
