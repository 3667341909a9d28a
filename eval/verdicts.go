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

func (s *Summary) conclusion(a, b string) string {
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
	var parts []string
	for _, v := range []struct{ verdict, words string }{{Better, "better by "}, {Worse, "worse by "}, {Undecided, "undecided: "}} {
		if len(by[v.verdict]) > 0 {
			parts = append(parts, v.words+strings.Join(by[v.verdict], ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// notes say what the verdicts hold of, and what keeps them from being made.
func (s *Summary) notes() []string {
	var out []string
	for _, a := range s.compared() {
		var scopes []string
		against := map[string][]string{}
		for _, c := range s.against(a, s.Metrics[0].Name) {
			if !slices.Contains(scopes, c.Scope) {
				scopes = append(scopes, c.Scope)
			}
			against[c.Scope] = append(against[c.Scope], c.B)
		}
		for _, scope := range scopes {
			who := ""
			if len(scopes) > 1 {
				who = " against " + strings.Join(against[scope], ", ")
			}
			out = append(out, fmt.Sprintf("scope of the verdicts on %s%s: %s", a, who, scope))
		}
	}
	rivals := len(s.Policies) - 1
	if n := stats.Workloads(rivals); len(out) > 0 && len(s.Seeds) < n {
		out = append(out, fmt.Sprintf("too few workload seeds for any verdict: %d; with %d other policies it takes at least %d", len(s.Seeds), rivals, n))
	}
	return out
}
