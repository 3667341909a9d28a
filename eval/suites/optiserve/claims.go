package optiserve

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/baselines/variants/problems"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
)

// claims are the statements of the thesis and of PRCP's authors.
var claims = []suite.Statement[*evidence]{
	{
		Claim: "OptiServe's answers reach 95 % of the ideal in 89.64 % of the problems",
		Parts: []suite.Part[*evidence]{{Rule: suite.Over(paperNear - 5), Measure: nearFound}},
	},
	{
		Claim: "PRCP's best strategy is within 1 % of the ideal on App1 to App4",
		Parts: []suite.Part[*evidence]{{Rule: suite.Over(99), Measure: ofIdealFound}},
		None:  "not measured: no --data",
	},
	{
		Claim: "PRCP's published curves come out point for point",
		Parts: []suite.Part[*evidence]{{Measure: curvesFound}},
		None:  "not measured: no --data",
	},
	{
		Claim: "OptiServe's golden figures come out with the published and with the corrected preset",
		Parts: []suite.Part[*evidence]{{Measure: goldenFound}},
		None:  "not measured: no --data",
	},
	{
		Claim: "80 % of the exponential law's relative errors are below about 10 % (Fig. 5.1)",
		Parts: []suite.Part[*evidence]{{Rule: suite.Under(12), Measure: errorsFound}},
		None:  "not measured: no --data",
	},
	{
		Claim: "the performance model is 99.1 % accurate (Fig. 5.3), the cost model 99.89 % (Fig. 5.4)", // of other applications
		Parts: []suite.Part[*evidence]{{Measure: applicationsFound}},
		None:  "not measured: no --data",
	},
}

// nearFound has two readings of the thesis' problems: bounds drawn over the whole range, where problems without an answer
// are left out, as the authors' program does, and tight bounds with all problems.
func nearFound(e *evidence, rule suite.Rule) (out []suite.Finding) {
	f := e.fig55
	for _, reading := range []struct {
		name   string
		spread int
		of     func(problems.Score) float64
	}{{"bounds over the whole range, answered problems", 1, problems.Score.Answered}, {"tight bounds, all problems", 0,
		problems.Score.Share}} {
		for _, h := range []int{reference, 3, 6} {
			x := f.estimate(e.r, reading.spread, h, -1, -1, reading.of)
			out = append(out, suite.Finding{Text: fmt.Sprintf("%s, %s: %s %%", f.heuristics[h].Name, reading.name, x),
				Verdict: rule(x), Reading: f.heuristics[h].Name + reading.name})
		}
	}
	return out
}

func ofIdealFound(e *evidence, rule suite.Rule) (out []suite.Finding) {
	if e.data == nil {
		return nil
	}
	for _, c := range e.data.curves {
		x := table.Estimate{At: c.OfIdeal, Low: c.OfIdeal, High: c.OfIdeal}
		out = append(out, suite.Finding{Text: fmt.Sprintf("%s, least %s: %.2f %%", c.App, c.Objective, c.OfIdeal), Verdict: rule(x)})
	}
	return out
}

func curvesFound(e *evidence, _ suite.Rule) []suite.Finding {
	if e.data == nil {
		return nil
	}
	points, different := 0, 0
	for _, c := range e.data.curves {
		points, different = points+c.Points, different+c.Different
	}
	rows := 0
	for _, t := range e.data.tables {
		rows, different = rows+t[0], different+t[1]
	}
	return []suite.Finding{{Text: fmt.Sprintf("%d of %d points (time, cost, configuration, iterations) and of %d rows of App2 and "+
		"App3 differ", different, points, rows), Verdict: suite.If(different == 0)}}
}

func goldenFound(e *evidence, _ suite.Rule) (out []suite.Finding) {
	if e.data == nil {
		return nil
	}
	for _, preset := range []string{"published", "corrected"} {
		g := e.data.golden[preset]
		out = append(out, suite.Finding{Text: fmt.Sprintf("%s: %d of %d differ", preset, g[1], g[0]), Verdict: suite.If(g[1] == 0)})
	}
	return out
}

func errorsFound(e *evidence, rule suite.Rule) []suite.Finding {
	if e.data == nil {
		return nil
	}
	at := 100 * float64(e.data.fit.Published.P80)
	own := 100 * float64(e.data.fit.Error.P80)
	return []suite.Finding{{Text: fmt.Sprintf("by plain least squares over PRCP's six functions the 80th percentile is %.1f %%; of "+
		"the law chosen at sizes left out %.1f %%", at, own), Verdict: rule(table.Estimate{At: at, Low: at, High: at})}}
}

func applicationsFound(e *evidence, _ suite.Rule) (out []suite.Finding) {
	if e.data == nil {
		return nil
	}
	for _, c := range e.data.applications {
		for _, row := range c.Rows {
			switch row.Quantity {
			case "mean":
				out = append(out, suite.Finding{Text: fmt.Sprintf("%s: mean %+.2f %% (published model %+.2f %%)", c.Name, 100*row.Error,
					100*c.Published.SecondsError), Verdict: suite.If(row.Error < 0.009 && row.Error > -0.009)})
			case "p95":
				out = append(out, suite.Finding{Text: fmt.Sprintf("p95 %+.2f %%", 100*row.Error)})
			case "cost":
				out = append(out, suite.Finding{Text: fmt.Sprintf("cost %+.2f %% (published model %+.2f %%)", 100*row.Error,
					100*c.Published.USDError), Verdict: suite.If(row.Error < 0.0011 && row.Error > -0.0011)})
			}
		}
	}
	return out
}
