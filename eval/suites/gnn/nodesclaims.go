package gnn

import (
	"fmt"
	"strings"

	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/suite"
)

// nodesClaims says what became of the prose on the serverless mode. They are about the policy over graphs; a DQN has verdicts only.
func nodesClaims(r *suite.Report, s *sweep, verdicts []suite.Comparison) error {
	gnn := s.fields[0].find(zoo.Prefix + gnnName)
	for _, c := range []struct {
		claim string
		parts []int
		means []string
	}{
		{"at 70 % load slowdown is reduced by 35 % compared to FCFS, 28 % to SJF, 24 % to Packer and 18 % to Tetris", []int{bySlowdown}, []string{""}},
		{"across all loads utilisation is 28 % higher than FCFS', 19 % than SJF's and 12 % than Tetris'", []int{byEfficiency, byUse},
			[]string{"as it is defined there, used over allocated: ", ". As used over capacity: "}},
		{"cold starts are reduced by 41 % compared to reactive baselines and 23 % to Tetris", []int{byCold}, []string{""}},
		{"cost is reduced by 31 % compared to traditional heuristics", []int{byCost}, []string{""}},
	} {
		out := suite.Claim{Claim: c.claim, Found: nobody, Verdict: suite.Unknown}
		if gnn >= 0 {
			out.Found = ""
			for n, part := range c.parts {
				found, verdict, err := effectsOf(r, s, gnn, part)
				if err != nil {
					return err
				}
				if out.Found += c.means[n] + found; n == 0 {
					out.Verdict = verdict
				} else if verdict != out.Verdict {
					out.Verdict = suite.Depends
				}
			}
		}
		r.Claim(out)
	}
	if err := claimOrder(r, s); err != nil {
		return err
	}
	claimOverload(r, s, gnn, verdicts)
	return nil
}

// effectsOf holds a statement's effects against ours.
func effectsOf(r *suite.Report, s *sweep, gnn, claim int) (found, verdict string, err error) {
	verdict = suite.Holds
	var parts []string
	for k := range effects {
		x := &effects[k]
		if x.claim != claim {
			continue
		}
		v, err := x.measured(s, gnn)
		if err != nil {
			return "", "", err
		}
		e := r.Estimate(v)
		word := reaches(e, x.percent)
		verdict = both(verdict, word)
		parts = append(parts, fmt.Sprintf("%s %% against %s (%s)", e, strings.Join(x.rivals, ", "), word))
	}
	return strings.Join(parts, "; "), verdict, nil
}

// claimOrder is what the four reductions imply of the rules among themselves.
func claimOrder(r *suite.Report, s *sweep) error {
	f := s.fields[s.nearest(70)]
	out := suite.Claim{Claim: "implied by the four reductions: at 70 % FCFS is worse than SJF, SJF than Packer, Packer than Tetris", Verdict: suite.Holds}
	var found []string
	for _, pair := range [][2]string{{fcfsName, sjfName}, {sjfName, packerName}, {packerName, tetrisName}} {
		v, err := ratio(f, pair[0], pair[1])
		if err != nil {
			return err
		}
		e := r.Estimate(v)
		switch {
		case e.Hi < 1:
			out.Verdict = both(out.Verdict, suite.Fails)
		case e.Lo <= 1:
			out.Verdict = both(out.Verdict, suite.Unknown)
		}
		found = append(found, fmt.Sprintf("%s has %s times the slowdown of %s", pair[0], e, pair[1]))
	}
	out.Found = strings.Join(found, ", ")
	r.Claim(out)
	return nil
}

// claimOverload is the policy against the paper's rules above 110 %.
func claimOverload(r *suite.Report, s *sweep, gnn int, verdicts []suite.Comparison) {
	out := suite.Claim{Claim: "above 110 % and up to 190 % it outperforms all baselines significantly", Found: nobody, Verdict: suite.Unknown}
	if gnn >= 0 {
		out.Verdict = suite.Holds
		var found []string
		for k, f := range s.fields {
			if s.loads[k] < 109 {
				continue
			}
			var not []string
			for _, v := range verdicts {
				if v.Setting != f.name || v.Metric != "slowdown" || v.A != zoo.Prefix+gnnName || !ofPaper(v.B) {
					continue
				}
				out.Verdict = both(out.Verdict, verdictOf(v.Verdict))
				if v.Verdict != eval.Better {
					not = append(not, fmt.Sprintf("%s (%s)", v.B, v.Verdict))
				}
			}
			word := "better than all"
			if len(not) > 0 {
				word = "not better than " + strings.Join(not, ", ")
			}
			found = append(found, fmt.Sprintf("%.0f %%: %s", s.loads[k], word))
		}
		out.Found = "slowdown at load " + strings.Join(found, "; ")
	}
	r.Claim(out)
}

// ofPaper says whether a rule is one that the paper compares with.
func ofPaper(name string) bool {
	switch name {
	case fcfsName, sjfName, packerName, tetrisName:
		return true
	}
	return false
}
