package faasconf

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/eval/suite"
)

// searchClaims are those of §5.2.1 and §5.2.3.
var searchClaims = []suite.Statement[*field]{
	{Claim: "FaaSConf is cheaper than Firm (24 %), RAMBO (23 %), Aquatope (28 %) and random search (31 %)",
		Parts: []suite.Part[*field]{{Rule: suite.Over(0), Measure: func(f *field, rule suite.Rule) (out []suite.Finding) {
			for _, b := range []string{firmName, "rambo", "aquatope", "random-search"} {
				out = append(out, f.cheaper(oursName, b, f.apps, rule))
			}
			return out
		}}}},
	{Claim: "rivals that decide hardware alone find nothing at all in some scenarios", Parts: []suite.Part[*field]{
		{Measure: func(f *field, _ suite.Rule) []suite.Finding {
			none := 0
			for _, b := range []string{firmName, "rambo", "aquatope", "random-search"} {
				for _, a := range f.apps {
					for _, u := range f.users {
						if f.of(b, a.name, u).found() == 0 {
							none++
						}
					}
				}
			}
			return []suite.Finding{{Text: fmt.Sprintf("in %d of %d", none, 4*len(f.apps)*len(f.users)),
				Verdict: suite.If(none > 0)}}
		}},
	}},
	{Claim: "deciding the limit makes Firm cheaper (22.08 %)", Parts: []suite.Part[*field]{
		{Rule: suite.Over(0), Measure: func(f *field, rule suite.Rule) []suite.Finding {
			a := f.app(sizing.Sequential)
			if a == nil {
				return nil
			}
			return []suite.Finding{f.cheaper(firmName+withLimit, firmName, []*app{a}, rule)}
		}},
	}, None: "not played in a quick run"},
	{Claim: "attention is cheaper than the mean (11.85 %), all agents (19.88 %) and one agent for all (10.84 %)",
		Parts: []suite.Part[*field]{{Rule: suite.Over(0), Measure: func(f *field, rule suite.Rule) (out []suite.Finding) {
			for _, b := range []string{mfName, maddpgName, ddpgName} {
				out = append(out, f.cheaper(boldName, b, f.apps, rule))
			}
			return out
		}}}},
	{Claim: "safe exploration lowers violations while serving (60 %, 37.5 %)", Parts: []suite.Part[*field]{
		{Rule: suite.Under(0), Measure: func(f *field, rule suite.Rule) (out []suite.Finding) {
			for _, p := range paperSafe {
				a := f.app(p.app)
				if a == nil {
					continue
				}
				x, y := f.of(oursName, a.name, safeUsers).missed(), f.of(boldName, a.name, safeUsers).missed()
				d := make([][]float64, len(x))
				for v := range x {
					for rep := range x[v] {
						d[v] = append(d[v], 100*(x[v][rep]-y[v][rep]))
					}
				}
				e := estimate(d)
				out = append(out, suite.Finding{Text: fmt.Sprintf("%s: %s points", p.app, e), Verdict: rule(e)})
			}
			return out
		}},
	}, None: "not played in a quick run"},
}

// cheaper measures by how many percent a is cheaper than b.
func (f *field) cheaper(a, b string, apps []*app, rule suite.Rule) suite.Finding {
	s := f.savings(a, b, apps, f.users)
	if s == nil {
		return suite.Finding{Text: b + ": nothing to compare with", Verdict: suite.Unknown}
	}
	e := estimate(s)
	return suite.Finding{Text: fmt.Sprintf("%s: %s %%", b, e), Verdict: rule(e)}
}
