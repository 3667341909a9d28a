package eval

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/stats"
)

// Verdict is on a against b: better where a keeps the constraint at least as well and the objective is better, worse
// where that holds of b against a.
type Verdict struct {
	A string `json:"a"`
	B string `json:"b"`
	// Constraint is empty where there is none.
	Constraint string `json:"constraint,omitempty"`
	Objective  string `json:"objective"`
	// Margin is by how much less well the constraint may be kept, in its unit.
	Margin Number `json:"margin"`
	// ConstraintKept says that a keeps the constraint at least as well as b, ConstraintKeptByB that b does as a.
	ConstraintKept    bool `json:"constraint_kept"`
	ConstraintKeptByB bool `json:"constraint_kept_by_b"`
	// ObjectiveVerdict and ConstraintVerdict are those by the single metrics.
	ObjectiveVerdict  string `json:"objective_verdict"`
	ConstraintVerdict string `json:"constraint_verdict,omitempty"`
	// Verdict is better, worse, undecided or infeasible; with a constraint Why says in words how it came about.
	Verdict string `json:"verdict"`
	Why     string `json:"why,omitempty"`
	Scope   string `json:"scope"`
}

// decide makes the verdicts of all comparisons, and marks as infeasible those by metrics that assume service where
// neither of the two policies serves the load.
func (s *Summary) decide(by Criteria) {
	s.Verdicts = []Verdict{}
	s.Infeasible = by.infeasible(s.Policies)
	for i := range s.Comparisons {
		c := &s.Comparisons[i]
		assumes := s.metric(c.Metric).AssumesService || c.Metric == by.Objective.Name
		if assumes && by.fails(s.policy(c.A)) && by.fails(s.policy(c.B)) {
			c.Verdict = Infeasible
		}
	}
	for _, o := range s.Comparisons {
		if o.Metric == by.Objective.Name {
			s.Verdicts = append(s.Verdicts, s.verdict(by, o))
		}
	}
}

// metric is the one of a name, the zero value where there is none.
func (s *Summary) metric(name string) Metric {
	for _, m := range s.Metrics {
		if m.Name == name {
			return m
		}
	}
	return Metric{}
}

// policy is the one of a name, the zero value where there is none.
func (s *Summary) policy(name string) PolicyResult {
	for _, p := range s.Policies {
		if p.Name == name {
			return p
		}
	}
	return PolicyResult{}
}

// verdict is that of a comparison by the objective and the one by the constraint beside it.
func (s *Summary) verdict(by Criteria, o Comparison) Verdict {
	v := Verdict{A: o.A, B: o.B, Objective: o.Metric, Scope: o.Scope, ConstraintKept: true, ConstraintKeptByB: true,
		ObjectiveVerdict: o.Verdict, Verdict: o.Verdict}
	if by.Constraint == nil {
		return v
	}
	m := *by.Constraint
	at := slices.IndexFunc(s.Comparisons, func(c Comparison) bool { return c.A == o.A && c.B == o.B && c.Metric == m.Name })
	c := s.Comparisons[at]
	v.ConstraintVerdict = c.Verdict
	v.Constraint, v.Margin = m.Name, Number(by.margin(float64(s.policy(o.B).Metrics[m.Name].Mean)))
	ends := stats.Comparison{SimultaneousLow: float64(c.SimultaneousLo), SimultaneousHigh: float64(c.SimultaneousHi)}
	lower := m.Better == envs.Lower
	v.ConstraintKept = ends.NotWorse(float64(v.Margin), lower)
	v.ConstraintKeptByB = ends.NotBetter(float64(v.Margin), lower)
	switch {
	case s.Infeasible != nil:
		v.Why = "no policy here serves the load"
	case o.Verdict == Infeasible:
		v.Why = "neither of the two serves the load"
	case o.Verdict == Better && v.ConstraintKept || o.Verdict == Worse && v.ConstraintKeptByB:
		v.Why = decidedWhy(o, c)
	default:
		v.Verdict, v.Why = Undecided, undecidedWhy(o, c)
	}
	return v
}

// wordOf is a comparison's verdict in words.
func wordOf(c Comparison) string {
	if c.Verdict == Undecided {
		return c.Metric + " undecided"
	}
	return c.Verdict + " by " + c.Metric
}

// decidedWhy says how objective o and constraint c decide. A constraint may be shown to be kept less well, within the
// tolerance.
func decidedWhy(o, c Comparison) string {
	kept := c.Metric + " kept at least as well"
	if o.Verdict == Better && c.Verdict == Worse || o.Verdict == Worse && c.Verdict == Better {
		kept = c.Metric + " kept less well within the tolerance"
	}
	if o.Verdict == Worse {
		kept += " by " + o.B
	}
	return wordOf(o) + ", " + kept
}

// undecidedWhy says why objective o and constraint c decide nothing.
func undecidedWhy(o, c Comparison) string {
	opposed := o.Verdict == Better && c.Verdict == Worse || o.Verdict == Worse && c.Verdict == Better
	switch {
	case opposed:
		return fmt.Sprintf("a trade-off: %s, %s", wordOf(o), wordOf(c))
	case o.Verdict == Undecided && c.Verdict == Undecided:
		return "neither " + o.Metric + " nor " + c.Metric + " decided"
	case o.Verdict == Undecided:
		return fmt.Sprintf("%s, %s", wordOf(c), wordOf(o))
	case o.Verdict == Worse:
		return fmt.Sprintf("%s, but it is not shown that %s keeps %s as well", wordOf(o), o.B, c.Metric)
	}
	return fmt.Sprintf("%s, but it is not shown that %s is kept as well", wordOf(o), c.Metric)
}
