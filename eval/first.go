package eval

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/internal/words"
	"github.com/stoker-rl/stoker/eval/pareto"
	"github.com/stoker-rl/stoker/eval/report"
)

// first is what a person wants to know of policy a: how well it keeps the constraint, at what price, and whether a
// baseline keeps it as well for less.
func (s *Summary) first(a string) string {
	if s.Frontier != nil {
		if equal := s.equal(a); len(equal) > 0 {
			return s.firstOfFrontier(equal) + ", over " + s.seeds(s.policy(a))
		}
	}
	return s.firstOfPoints(a) + ", over " + s.seeds(s.policy(a))
}

// equal are the comparisons at equal violations of the method of policy a with each baseline, bounds left out.
func (s *Summary) equal(a string) []pareto.Equal {
	i := slices.IndexFunc(s.Methods, func(m Method) bool { return slices.Contains(m.Policies, a) })
	if i < 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Frontier.Equal), func(e pareto.Equal) bool {
		return e.A != s.Methods[i].Name || !slices.ContainsFunc(s.baselines(a), func(p PolicyResult) bool {
			return slices.Contains(s.method(e.B).Policies, p.Name)
		})
	})
}

// firstOfFrontier compares at equal violations.
func (s *Summary) firstOfFrontier(equal []pareto.Equal) string {
	e := equal[0]
	name := e.A
	if e.Setting != asItIs {
		name += " at " + e.Setting
	}
	out := name + " " + s.keepsAt(float64(e.Violated.Mean), float64(e.Price.Mean)) + "; "
	var reach, near []pareto.Equal
	for _, b := range equal {
		switch {
		case !math.IsNaN(float64(b.PriceB.Mean)):
			reach = append(reach, b)
		case !b.More.Decided(0):
			near = append(near, b)
		}
	}
	switch {
	case len(reach) > 0:
		b := slices.MinFunc(reach, func(x, y pareto.Equal) int { return cmpNumbers(x.PriceB.Mean, y.PriceB.Mean) })
		which := b.B + " is the only baseline that keeps as many"
		if len(reach) > 1 {
			which = b.B + " is the cheapest baseline that keeps as many"
		}
		out += which + ", " + s.objectiveAt(float64(b.PriceB.Mean))
		if b.Below {
			return out + "; it keeps more, and no setting that violates about as much was played"
		}
		return out + ", " + ratioText(b.Ratio)
	case len(near) > 0:
		b := slices.MinFunc(near, func(x, y pareto.Equal) int { return cmpNumbers(x.Least.Price.Mean, y.Least.Price.Mean) })
		return fmt.Sprintf("%s%s keeps about as many (%s), %s, %s", out, settingOf(b), s.violates(float64(b.Least.Violated.Mean)),
			s.objectiveAt(float64(b.Least.Price.Mean)), ratioText(b.LeastRatio))
	}
	b := slices.MinFunc(equal, func(x, y pareto.Equal) int { return cmpNumbers(x.Least.Violated.Mean, y.Least.Violated.Mean) })
	return fmt.Sprintf("%sno baseline keeps as many; the closest, %s, %s %s", out, settingOf(b),
		s.violates(float64(b.Least.Violated.Mean)), s.objectiveAt(float64(b.Least.Price.Mean)))
}

func cmpNumbers(a, b Number) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// settingOf names a method and the setting that violates least.
func settingOf(e pareto.Equal) string {
	if e.Least.Setting == asItIs {
		return e.B
	}
	return e.B + " " + strings.Replace(e.Least.Setting, " ", "=", 1)
}

// ratioText says a ratio of prices with its interval.
func ratioText(r pareto.Number) string {
	f := report.Fit([]report.Estimate{r.Estimate()}, 0, false)
	out := fmt.Sprintf("%s times as much [%s, %s]", f.Number(float64(r.Mean)), f.Number(float64(r.Lo)), f.Number(float64(r.Hi)))
	if !r.Decided(1) {
		out += " (undecided)"
	}
	return out
}

// keeps says how well a policy keeps the constraint, and its objective.
func (s *Summary) keeps(policy string) string {
	p := s.policy(policy)
	o := float64(p.Metrics[s.Objective].Mean)
	if s.Constraint == "" {
		return "has " + words.Of(s.Objective) + " " + s.withUnit(o)
	}
	return s.keepsAt(float64(p.Metrics[s.Constraint].Mean), o)
}

// keepsAt is keeps for values of the constraint and the objective.
func (s *Summary) keepsAt(violated, objective float64) string {
	m := s.metric(s.Constraint)
	if what := words.Kept(m.Name, m.Unit); what != "" {
		return "keeps " + share(1-violated, violated) + " of " + what + " " + s.objectiveAt(objective)
	}
	return "has " + words.Of(m.Name) + " " + s.figures(m.Name, violated) + " " + s.objectiveAt(objective)
}

// violates says how much a policy violates.
func (s *Summary) violates(violated float64) string {
	m := s.metric(s.Constraint)
	if words.Kept(m.Name, m.Unit) != "" {
		return "violates " + share(violated, violated)
	}
	return "has " + words.Of(m.Name) + " " + s.figures(m.Name, violated)
}

// objectiveAt is a value of the objective after a verb: "at 1.47 USD/h" of a price.
func (s *Summary) objectiveAt(x float64) string {
	if s.Objective == "price" {
		return "at " + s.withUnit(x)
	}
	return "with " + words.Of(s.Objective) + " " + s.withUnit(x)
}

// withUnit is a value of the objective with its unit.
func (s *Summary) withUnit(x float64) string {
	m := s.metric(s.Objective)
	place := 0
	if x != 0 && report.Finite(x) {
		place = min(0, int(math.Floor(math.Log10(math.Abs(x))))-2)
	}
	return strings.TrimSpace(report.Round(x, place) + " " + words.Unit(m.Name, m.Unit))
}

// share writes a share in percent, with two figures of the violations. A mean of ones may be a bit above one: none is below 0.
func share(x, violated float64) string {
	digits := 0
	if v := 100 * min(violated, 1-violated); v > 0 {
		digits = min(2, max(0, 1-int(math.Floor(math.Log10(v)))))
	}
	text := strconv.FormatFloat(100*max(x, 0), 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + " %"
}

// firstOfPoints compares policies as they are, where there is no frontier.
func (s *Summary) firstOfPoints(a string) string {
	out := a + " " + s.keeps(a) + "; "
	baselines, word := s.baselines(a), "baseline"
	switch {
	case len(baselines) == 0:
		return out + "there is no baseline to compare it with"
	case baselines[0].Kind == catalog.Learned:
		word = "other policy"
	}
	objective, which := s.metric(s.Objective), fmt.Sprintf("the best of %d baselines", len(baselines))
	if s.Constraint != "" {
		m := s.metric(s.Constraint)
		kept := func(p PolicyResult) bool {
			v := s.verdictOn(a, p.Name)
			chance := v.ConstraintVerdict == Undecided && len(s.shortfalls()) == 0
			return chance || !worseThan(m, p.Metrics[m.Name].Mean, s.policy(a).Metrics[m.Name].Mean, v.Margin)
		}
		all := baselines
		if baselines = slices.DeleteFunc(slices.Clone(baselines), func(p PolicyResult) bool { return !kept(p) }); len(baselines) == 0 {
			p := slices.MinFunc(all, func(x, y PolicyResult) int { return order(m, x, y) })
			c := float64(p.Metrics[m.Name].Mean)
			return fmt.Sprintf("%sno %s keeps as many; the closest, %s, %s %s", out, word, p.Name, s.violates(c),
				s.objectiveAt(float64(p.Metrics[s.Objective].Mean)))
		}
		which = "the best " + word + " that keeps as many"
		if len(baselines) == 1 {
			which = "the only " + word + " that keeps as many"
		}
	} else if len(baselines) == 1 {
		which = "the only " + word
	}
	best := slices.MinFunc(baselines, func(x, y PolicyResult) int { return order(objective, x, y) })
	v := s.verdictOn(a, best.Name)
	if v.Verdict == Infeasible {
		return out + "it cannot be compared with " + best.Name + ": neither serves the load"
	}
	return out + s.change(v, which)
}

// baselines are those that policy a is set beside first: the baselines, else the other learned policies.
func (s *Summary) baselines(a string) []PolicyResult {
	var baselines, learned []PolicyResult
	for _, p := range s.Policies {
		switch {
		case p.Name == a || p.Kind == catalog.Oracle:
		case p.Kind == catalog.Learned:
			learned = append(learned, p)
		default:
			baselines = append(baselines, p)
		}
	}
	if len(baselines) == 0 {
		return learned
	}
	return baselines
}

// worseThan reports whether x is worse than y by more than a margin.
func worseThan(m Metric, x, y, margin Number) bool {
	if m.Better == envs.Higher {
		return x < y-margin
	}
	return x > y+margin
}

// order sorts policies by a metric, the best first.
func order(m Metric, x, y PolicyResult) int {
	c := cmpNumbers(x.Metrics[m.Name].Mean, y.Metrics[m.Name].Mean)
	if m.Better == envs.Higher {
		return -c
	}
	return c
}

// verdictOn is that on a against b.
func (s *Summary) verdictOn(a, b string) Verdict {
	for _, v := range s.Verdicts {
		if v.A == a && v.B == b {
			return v
		}
	}
	return Verdict{A: a, B: b, Objective: s.Objective}
}

// change is a difference by the objective, with the interval that decides: in percent of the other's mean where the
// metric is never negative and no share, else in its unit.
func (s *Summary) change(v Verdict, which string) string {
	c, m := s.comparison(v, v.Objective), s.metric(v.Objective)
	d := s.differs(c)
	unit, scale := words.Unit(m.Name, m.Unit), 1.0
	if unit != "" {
		unit = " " + unit
	}
	baseline := float64(s.policy(v.B).Metrics[v.Objective].Mean)
	if low, high := m.Bounds.Limits(); low == 0 && math.IsInf(high, 1) && baseline > 0 {
		unit, scale = " %", 100/baseline
	}
	name, word := words.Of(v.Objective), "higher"
	if d.At == 0 {
		return fmt.Sprintf("its %s equals that of %s, %s", name, v.B, which)
	}
	if d.At < 0 {
		word, scale = "lower", -scale
	}
	d.At, d.Low, d.High = d.At*scale, d.Low*scale, d.High*scale
	if scale < 0 {
		d.Low, d.High = d.High, d.Low
	}
	f := report.Fit([]report.Estimate{d.Estimate}, 0, false)
	verdict := v.Verdict
	if v.Verdict == Undecided && v.ObjectiveVerdict != Undecided {
		verdict += " (" + v.Why + ")"
	}
	return fmt.Sprintf("its %s is %s%s %s %s than with %s, %s: %s", name, prose(f.Number(d.At)), unit, word, prose(d.ends(f)), v.B,
		which, verdict)
}
