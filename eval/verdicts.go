package eval

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/internal/lists"
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
	out := fmt.Sprintf("%s, where %s is kept at least as well", s.Objective, s.Constraint)
	if s.RelativeTolerance > 0 { // evaluations from before November 2026 have none
		out += fmt.Sprintf(" (relative tolerance %s)", report.Plain(s.RelativeTolerance))
	}
	return out
}

// conclusions are the verdicts by single metrics in words: a line per policy compared and baseline.
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
	return ByVerdict(s.verdictsAgainst(a, b), "better by ", "worse by ", "undecided: ", "infeasible: ")
}

// ByVerdict words what has each verdict: better, worse, undecided and infeasible, as far as there are words for them.
func ByVerdict(by map[string][]string, words ...string) string {
	var parts []string
	for i, text := range words {
		if list := by[[]string{Better, Worse, Undecided, Infeasible}[i]]; len(list) > 0 {
			parts = append(parts, text+strings.Join(list, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// scoped is of what verdicts hold; Against names the baselines where it is not the same for all.
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
	baselines := len(s.Policies) - 1
	have, what := len(s.Seeds), "workload seeds"
	if s.Traces > 0 {
		have, what = s.Traces, "traces"
	}
	if n := stats.Workloads(baselines); len(s.compared()) > 0 && have < n {
		others := "policies"
		if baselines == 1 {
			others = "policy"
		}
		return []string{fmt.Sprintf("too few %s for any verdict: %d; with %d other %s it takes at least %d", what, have,
			baselines, others, n)}
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
	return append(append(out, s.elsewhere()...), s.shortfalls()...)
}

// elsewhere are what is to be said of policies that were trained elsewhere.
func (s *Summary) elsewhere() (out []string) {
	var who []string
	for _, p := range s.Policies {
		if p.Foreign {
			who = append(who, p.Name)
		}
		if p.Note != "" {
			out = append(out, p.Name+": "+p.Note)
		}
	}
	if len(who) > 0 {
		out = append(out, "trained elsewhere, with a training budget that is not known: "+listed(who))
	}
	return out
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
	parts := lists.From(compared, s.first)
	for _, p := range s.Policies {
		if p.Kind == catalog.Oracle {
			parts = append(parts, "the bound, "+p.Name+", "+s.keeps(p.Name))
		}
	}
	return strings.Join(append(parts, s.shortfalls()...), "; ")
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
	loads := report.Count(len(s.Seeds), "workload seed")
	if s.Traces > 0 {
		loads += " of " + report.Count(s.Traces, "trace")
	}
	if p.Kind == catalog.Learned {
		return report.Count(s.trained(p.Name), "training seed") + " and " + loads
	}
	return loads
}

// level is a policy's mean of a metric, with its unit.
func (s *Summary) level(policy, metric string) string {
	m, p := s.metric(metric), s.policy(policy)
	x := s.of(&p, metric)
	out := metric + " " + x.cell(report.Fit([]report.Estimate{x.Estimate}, 0, false))
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

// wholes are digits with enough of them for a comma, or those behind a point.
var wholes = regexp.MustCompile(`\.?[0-9]{4,}`)

// prose writes numbers as [report.Round] does: with a true minus sign, and commas between thousands.
func prose(s string) string {
	s = wholes.ReplaceAllStringFunc(s, func(digits string) string {
		for i := len(digits) - 3; i > 0 && digits[0] != '.'; i -= 3 {
			digits = digits[:i] + "," + digits[i:]
		}
		return digits
	})
	return strings.ReplaceAll(s, "-", "−")
}

// figures writes values of a metric with two figures of the largest, and of what has two bounds at least a hundredth of
// their distance.
func (s *Summary) figures(metric string, x ...float64) string {
	most := 0.0
	for _, v := range x {
		most = max(most, math.Abs(v))
	}
	place := 0
	if most > 0 && report.Finite(most) {
		place = int(math.Floor(math.Log10(most))) - 1
	}
	if low, high := s.metric(metric).Bounds.Limits(); report.Finite(high - low) {
		place = min(place, int(math.Floor(math.Log10(high-low)))-2)
	}
	return strings.Join(lists.From(x, func(v float64) string { return report.Round(v, place) }), " against ")
}
