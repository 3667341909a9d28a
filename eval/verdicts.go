package eval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/table"
)

// verdictLines are the verdicts in words, a line each, below one that says what they are made by.
func (s *Summary) verdictLines() []string {
	if len(s.Verdicts) == 0 {
		return nil
	}
	out := []string{"verdicts by " + s.criteria() + ":"}
	for _, v := range s.Verdicts {
		line := fmt.Sprintf("  %s against %s: %s", v.A, v.B, v.Verdict)
		if v.Why != "" {
			line += " (" + v.Why + ")"
		}
		out = append(out, line)
	}
	return out
}

// criteria are what verdicts are made by, in words.
func (s *Summary) criteria() string {
	if s.Constraint == "" {
		return s.Objective
	}
	return fmt.Sprintf("%s, where %s is kept at least as well (tolerance %s)", s.Objective, s.Constraint, s.tolerance())
}

// tolerance is by how much less well the constraint may be kept, in words.
func (s *Summary) tolerance() string {
	low, high := s.metric(s.Constraint).Bounds.Limits()
	if width := high - low; table.Finite(width) {
		return table.Plain(s.Tolerance * width)
	}
	return table.Plain(100*s.Tolerance) + " % of the other's mean"
}

// conclusions are the verdicts by single metrics in words: a line per policy compared and rival.
func (s *Summary) conclusions() []string {
	if len(s.Metrics) == 1 || len(s.Comparisons) == 0 {
		return nil // the verdicts say it
	}
	out := []string{"by single metrics (better or worse: p (Holm) below 0.05, and no zero in the interval " +
		"that holds for all others at once):"}
	for _, a := range s.compared() {
		for _, first := range s.against(a, s.Metrics[0].Name) {
			if line := s.conclusion(a, first.B); line != "" {
				out = append(out, fmt.Sprintf("  %s against %s: %s", a, first.B, line))
			}
		}
	}
	return out
}

// verdictsAgainst lists metrics by verdict on policy a against b.
func (s *Summary) verdictsAgainst(a, b string) map[string][]string {
	by := map[string][]string{}
	for _, m := range s.Metrics {
		if m.Better == envs.Neither {
			continue
		}
		for _, c := range s.against(a, m.Name) {
			if c.B == b {
				by[c.Verdict] = append(by[c.Verdict], m.Name)
			}
		}
	}
	return by
}

func (s *Summary) conclusion(a, b string) string {
	by := s.verdictsAgainst(a, b)
	var parts []string
	for _, v := range []struct{ verdict, words string }{
		{Better, "better by "}, {Worse, "worse by "}, {Undecided, "undecided: "}, {Infeasible, "infeasible: "},
	} {
		if len(by[v.verdict]) > 0 {
			parts = append(parts, v.words+strings.Join(by[v.verdict], ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// scoped is of what verdicts hold; Against names the rivals where it is not the same for all.
type scoped struct{ Scope, Against string }

// scopes say of what the verdicts on a hold.
func (s *Summary) scopes(a string) []scoped {
	var out []scoped
	for _, c := range s.against(a, s.Metrics[0].Name) {
		i := slices.IndexFunc(out, func(o scoped) bool { return o.Scope == c.Scope })
		if i < 0 {
			out = append(out, scoped{c.Scope, c.B})
			continue
		}
		out[i].Against += ", " + c.B
	}
	if len(out) == 1 {
		out[0].Against = ""
	}
	return out
}

// shortfalls are what keeps verdicts from being made.
func (s *Summary) shortfalls() []string {
	rivals := len(s.Policies) - 1
	if n := stats.Workloads(rivals); len(s.compared()) > 0 && len(s.Seeds) < n {
		others := "policies"
		if rivals == 1 {
			others = "policy"
		}
		return []string{fmt.Sprintf("too few workload seeds for any verdict: %d; with %d other %s it takes at least %d",
			len(s.Seeds), rivals, others, n)}
	}
	return nil
}

// notes say what the verdicts hold of, and what keeps them from being made.
func (s *Summary) notes() []string {
	var out []string
	for _, a := range s.compared() {
		for _, scope := range s.scopes(a) {
			who := ""
			if scope.Against != "" {
				who = " against " + scope.Against
			}
			out = append(out, fmt.Sprintf("scope of the verdicts on %s%s: %s", a, who, scope.Scope))
		}
	}
	if r := s.rangesNote(); r != "" {
		out = append(out, r)
	}
	return append(out, s.shortfalls()...)
}

// rangesNote says of which policies ranges are shown in place of intervals; empty where of none.
func (s *Summary) rangesNote() string {
	var few []string
	for _, p := range s.Policies {
		if s.few(p.Name) {
			few = append(few, fmt.Sprintf("%s (%d)", p.Name, s.trained(p.Name)))
		}
	}
	if len(few) == 0 {
		return ""
	}
	return fmt.Sprintf("(lowest to highest training seed) in place of [95 %% interval]: an interval takes %d training seeds, "+
		"there are fewer of %s", stats.FewSeeds, listed(few))
}
