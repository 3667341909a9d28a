package stepconf

import (
	"fmt"

	"github.com/stoker-rl/stoker/eval/suite"
)

// claims are the paper's statements.
var claims = []suite.Statement[*evidence]{
	{
		Claim: "code of one core is not faster beyond 1,769 MB unless it runs in several processes (Figs. 5, 6)",
		Parts: []suite.Part[*evidence]{{Rule: suite.Near(1, 0.02), Measure: flatFound},
			{Rule: suite.Under(0.25), Measure: fallsFound}},
	},
	{
		Claim: "predicted compute times err mostly by less than 4 %, at most by 8 % (Figs. 16, 17)",
		Parts: []suite.Part[*evidence]{{Measure: errorsFound}},
	},
}

func flatFound(e *evidence, rule suite.Rule) []suite.Finding {
	x := e.r.Estimate([][]float64{ratio(e.laws.fig5[0], len(sizes)-1, oneCore)})
	return []suite.Finding{{Text: fmt.Sprintf("one process takes %s times as long with 10,240 MB as with 1,769", x), Verdict: rule(x)}}
}

func fallsFound(e *evidence, rule suite.Rule) []suite.Finding {
	x := e.r.Estimate([][]float64{ratio(e.laws.fig5[3], len(sizes)-1, oneCore)})
	return []suite.Finding{{Text: fmt.Sprintf(", six processes %s times", x), Verdict: rule(x)}}
}

func errorsFound(e *evidence, _ suite.Rule) (out []suite.Finding) {
	for k, reading := range readings {
		share, most := e.fits.below(k, mostError)
		s, m := e.r.Estimate([][]float64{share}), e.r.Estimate([][]float64{most})
		out = append(out, suite.Finding{Text: fmt.Sprintf("%s: %s %% of the cells below 4 %%, the largest %s %%", reading.name, s, m),
			Verdict: suite.All(suite.Over(50)(s), suite.Under(allError)(m)), Reading: reading.name})
	}
	if e.data == nil {
		return out
	}
	for f, name := range e.data.names {
		share, most := e.data.below(f, mostError)
		s, m := e.r.Estimate([][]float64{share}), e.r.Estimate([][]float64{most})
		out = append(out, suite.Finding{Text: fmt.Sprintf("on AWS, %s: %s %%, %s %%", name, s, m),
			Verdict: suite.All(suite.Over(50)(s), suite.Under(allError)(m)), Reading: "measured on AWS"})
	}
	return out
}
