package eval

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/table"
)

// sentence sums the evaluation up: who keeps the constraint, at what price, and what the baselines do there. Oracles
// bound what can be had and stand last.
func (s *Summary) sentence() string {
	out := s.said()
	for _, word := range []string{"no ", "this "} { // else it begins with a policy's name
		if strings.HasPrefix(out, word) {
			out = strings.ToUpper(out[:1]) + out[1:]
		}
	}
	return out
}

func (s *Summary) said() string {
	compared := s.compared()
	switch {
	case s.Infeasible != nil:
		return s.infeasibleSentence()
	case len(compared) == 0:
		return s.aloneSentence()
	}
	var parts []string
	for _, a := range compared {
		parts = append(parts, s.first(a))
	}
	for _, p := range s.Policies {
		if p.Kind == catalog.Oracle {
			parts = append(parts, "the bound, "+p.Name+", "+s.keeps(p.Name))
		}
	}
	return strings.Join(append(parts, s.shortfalls()...), "; ")
}

func seedsWord(n int, of string) string {
	if n == 1 {
		return "1 " + of + " seed"
	}
	return fmt.Sprintf("%d %s seeds", n, of)
}

// infeasibleSentence says that nobody serves the load, and what is therefore not compared.
func (s *Summary) infeasibleSentence() string {
	var silent []string
	for _, m := range s.Metrics {
		if m.Better != envs.Neither && (m.AssumesService || m.Name == s.Objective) {
			silent = append(silent, m.Name)
		}
	}
	u := s.Infeasible
	best := fmt.Sprintf("even %s, the best of %d policies,", u.Best, len(s.Policies))
	if len(s.Policies) == 1 {
		best = u.Best
	}
	return fmt.Sprintf("no policy here serves the load: %s has %s %s (infeasible from %s), so there is no verdict by %s", best,
		u.Constraint, s.figures(u.Constraint, float64(u.Value)), s.figures(u.Constraint, float64(u.From)), listed(silent))
}

// aloneSentence is that of one policy without any other.
func (s *Summary) aloneSentence() string {
	p := s.Policies[0]
	parts := []string{s.level(p.Name, s.Objective)}
	if s.Constraint != "" {
		parts = append(parts, s.level(p.Name, s.Constraint))
	}
	return fmt.Sprintf("%s: %s, over %s; there is nothing to compare it with", p.Name, strings.Join(parts, ", "),
		s.seeds(p))
}

// trained is the number of a policy's training seeds, 1 for one that was not trained.
func (s *Summary) trained(policy string) int {
	return max(1, len(s.policy(policy).Metrics[s.Metrics[0].Name].BySeed))
}

// few reports whether a range over training seeds is shown of a policy, in place of an interval.
func (s *Summary) few(policy string) bool {
	n := s.trained(policy)
	return n > 1 && n < stats.FewSeeds
}

// seeds are over how many a policy's numbers are.
func (s *Summary) seeds(p PolicyResult) string {
	if n := s.trained(p.Name); n > 1 {
		return seedsWord(n, "training") + " and " + seedsWord(len(s.Seeds), "workload")
	}
	if p.Kind == catalog.Learned {
		return "1 training seed and " + seedsWord(len(s.Seeds), "workload")
	}
	return seedsWord(len(s.Seeds), "workload")
}

// level is a policy's mean of a metric, with its unit.
func (s *Summary) level(policy, metric string) string {
	m, p := s.metric(metric), s.policy(policy)
	x := s.of(&p, metric)
	out := metric + " " + x.cell(table.Fit([]table.Estimate{x.Estimate}, 0, false))
	if m.Unit != "" && m.Unit != "1" {
		out += " " + m.Unit
	}
	return out
}

// listed joins words as a sentence does.
func listed(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}

// comparison is that by a metric of the two policies of a verdict.
func (s *Summary) comparison(v Verdict, metric string) *Comparison {
	return &s.Comparisons[slices.IndexFunc(s.Comparisons, func(c Comparison) bool {
		return c.A == v.A && c.B == v.B && c.Metric == metric
	})]
}

// minus writes a true minus sign.
func minus(s string) string { return strings.ReplaceAll(s, "-", "−") }

// figures writes values of a metric with two figures of the largest, and of what has two bounds at least a hundredth of
// their distance.
func (s *Summary) figures(metric string, x ...float64) string {
	most := 0.0
	for _, v := range x {
		most = max(most, math.Abs(v))
	}
	place := 0
	if most > 0 && table.Finite(most) {
		place = int(math.Floor(math.Log10(most))) - 1
	}
	if low, high := s.metric(metric).Bounds.Limits(); table.Finite(high - low) {
		place = min(place, int(math.Floor(math.Log10(high-low)))-2)
	}
	var out []string
	for _, v := range x {
		out = append(out, table.Round(v, place))
	}
	return strings.Join(out, " against ")
}
