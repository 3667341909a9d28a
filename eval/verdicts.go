package eval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/stats"
)

// conclusions are the verdicts in words: a line per policy compared and rival.
func (s *Summary) conclusions() []string {
	var out []string
	for _, a := range s.compared() {
		for _, first := range s.against(a, s.Metrics[0].Name) {
			if line := s.conclusion(a, first.B); line != "" {
				out = append(out, fmt.Sprintf("%s against %s: %s", a, first.B, line))
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
		{Better, "better by "}, {Worse, "worse by "}, {Undecided, "undecided: "},
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
		return []string{fmt.Sprintf("too few workload seeds for any verdict: %d; with %d other policies it takes at "+
			"least %d", len(s.Seeds), rivals, n)}
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
	return append(out, s.shortfalls()...)
}
