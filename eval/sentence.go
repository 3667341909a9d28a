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

// sentence sums the evaluation up: what each policy compared is better and worse than, by how much against the
// strongest of these, and against which nothing is decided.
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
		parts = append(parts, s.sentenceOn(a, len(compared) == 1))
	}
	if len(compared) > 1 {
		parts = append(parts, "over "+seedsWord(len(s.Seeds), "workload"))
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
	return fmt.Sprintf("%s: %s, over %s; there is nothing to compare it with", s.called(p), strings.Join(parts, ", "),
		s.seeds(p))
}

// called is a policy's name, with a word where it is one checkpoint only.
func (s *Summary) called(p PolicyResult) string {
	if p.Kind == catalog.Learned && s.trained(p.Name) == 1 {
		return "this checkpoint of " + p.Name
	}
	return p.Name
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

// sentenceOn is the part on policy a; whole says that there is no other part, which names the workload seeds.
func (s *Summary) sentenceOn(a string, whole bool) string {
	p := s.policy(a)
	by := map[string][]Verdict{}
	for _, v := range s.Verdicts {
		if v.A == a {
			by[v.said()] = append(by[v.said()], v)
		}
	}
	over := ", over " + s.seeds(p)
	if n := s.trained(a); !whole {
		if over = ""; n > 1 {
			over = ", over " + seedsWord(n, "training")
		}
	}
	var clauses []string
	for _, said := range []string{Better, Worse, keptBetter, keptWorse, tradeOff, Undecided, Infeasible} {
		group := by[said]
		if len(group) == 0 {
			continue
		}
		clause := map[string]string{Better: "is better than ", Worse: "is worse than ", Undecided: "is undecided against ",
			keptBetter: "is better by " + s.Constraint + " alone than ",
			keptWorse:  "is worse by " + s.Constraint + " alone than ",
			tradeOff:   "is a trade-off against ", Infeasible: "cannot be compared with "}[said] + names(group)
		switch {
		case said == Infeasible:
			clause += fmt.Sprintf(", by %s neither serves the load", s.Constraint)
		case len(clauses) == 0 || whole && said != Undecided: // of several policies the first clause alone has numbers
			clause += ": " + s.detail(s.closest(group), len(group) > 1)
		}
		clauses = append(clauses, clause)
	}
	return s.called(p) + " " + clauses[0] + over + strings.Join(append([]string{""}, clauses[1:]...), "; ")
}

// What the sentence says of undecided verdicts by which one metric decides something.
const (
	keptBetter = "kept better"
	keptWorse  = "kept worse"
	tradeOff   = "trade-off"
)

// said is a verdict, or what the sentence says of an undecided one.
func (v *Verdict) said() string {
	if v.Verdict != Undecided {
		return v.Verdict
	}
	switch o, c := v.ObjectiveVerdict, v.ConstraintVerdict; {
	case o == Better && c == Worse, o == Worse && c == Better:
		return tradeOff
	case o == Undecided && c == Better:
		return keptBetter
	case o == Undecided && c == Worse:
		return keptWorse
	}
	return Undecided
}

func names(group []Verdict) string {
	var out []string
	for _, v := range group {
		out = append(out, v.B)
	}
	return listed(out)
}

// listed joins words as a sentence does.
func listed(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}

// closest is the verdict of a group on the policy that the objective of a differs least from.
func (s *Summary) closest(group []Verdict) Verdict {
	gap := func(v Verdict) float64 { return math.Abs(float64(s.comparison(v, v.Objective).Difference)) }
	return slices.MinFunc(group, func(a, b Verdict) int {
		switch x, y := gap(a), gap(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
}

// comparison is that by a metric of the two policies of a verdict.
func (s *Summary) comparison(v Verdict, metric string) *Comparison {
	return &s.Comparisons[slices.IndexFunc(s.Comparisons, func(c Comparison) bool {
		return c.A == v.A && c.B == v.B && c.Metric == metric
	})]
}

// detail is by how much the objective differs, and how the constraint is kept: "price 12 % lower [8, 15], violated 0.12
// against 0.13". Named adds than whose.
func (s *Summary) detail(v Verdict, named bool) string {
	out := s.change(v, named)
	if v.Constraint != "" {
		x, y := s.policy(v.A).Metrics[v.Constraint].Mean, s.policy(v.B).Metrics[v.Constraint].Mean
		out += fmt.Sprintf(", %s %s", v.Constraint, s.figures(v.Constraint, float64(x), float64(y)))
	}
	return out
}

// change is a difference by the objective: in percent of the other's mean where the metric is never negative and no
// share, else in its unit.
func (s *Summary) change(v Verdict, named bool) string {
	c, m := s.comparison(v, v.Objective), s.metric(v.Objective)
	d := s.differs(c)
	unit, scale := "", 1.0
	if m.Unit != "1" && m.Unit != "" {
		unit = " " + m.Unit
	}
	rival := float64(s.policy(v.B).Metrics[v.Objective].Mean)
	if low, high := m.Bounds.Limits(); low == 0 && math.IsInf(high, 1) && rival > 0 {
		unit, scale = " %", 100/rival
	}
	word, whose := "higher", ""
	if named {
		whose = " than " + v.B + "'s"
	}
	if d.At == 0 {
		return v.Objective + " equal"
	}
	if d.At < 0 {
		word, scale = "lower", -scale
	}
	d.At, d.Low, d.High = d.At*scale, d.Low*scale, d.High*scale
	if scale < 0 {
		d.Low, d.High = d.High, d.Low
	}
	f := table.Fit([]table.Estimate{d.Estimate}, 0, false)
	return fmt.Sprintf("%s %s%s %s%s %s", v.Objective, minus(f.Number(d.At)), unit, word, whose, minus(d.ends(f)))
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
