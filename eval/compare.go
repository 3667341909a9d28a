package eval

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/rng"
)

// Verdicts.
const (
	Better    = "better"
	Worse     = "worse"
	Undecided = "undecided"
	// Infeasible is the verdict by what assumes that the load is served, where neither policy serves it.
	Infeasible = "infeasible"
)

// Comparison is a against b by one metric: the difference of the means, a − b, which is the mean of the differences
// under the same workloads.
type Comparison struct {
	A          string `json:"a"`
	B          string `json:"b"`
	Metric     string `json:"metric"`
	Difference Number `json:"difference"`
	Lo         Number `json:"lo"`
	Hi         Number `json:"hi"`
	// SimultaneousLo and SimultaneousHi hold for all baselines at once.
	SimultaneousLo Number `json:"simultaneous_lo"`
	SimultaneousHi Number `json:"simultaneous_hi"`
	// SeedsLo and SeedsHi are the range of the difference over training seeds, null where neither policy has several. It
	// is shown in place of the interval where one has fewer than stats.FewSeeds of them.
	SeedsLo Number `json:"seeds_lo"`
	SeedsHi Number `json:"seeds_hi"`
	P       Number `json:"p"`
	PHolm   Number `json:"p_holm"`
	// Improvement is the probability that a does better than b under one workload; where neither direction is better,
	// that its value is the higher.
	Improvement   Number `json:"probability_of_improvement"`
	ImprovementLo Number `json:"probability_of_improvement_lo"`
	ImprovementHi Number `json:"probability_of_improvement_hi"`
	// ImprovementSeedsLo and ImprovementSeedsHi are its range over training seeds.
	ImprovementSeedsLo Number `json:"probability_of_improvement_seeds_lo"`
	ImprovementSeedsHi Number `json:"probability_of_improvement_seeds_hi"`
	// Scope says of what the verdict holds: the method where it was trained with several seeds, else the checkpoint.
	Scope string `json:"scope"`
	// Verdict is better or worse where a's difference from b is beyond chance, else undecided; infeasible where the metric
	// assumes that the load is served and neither policy serves it.
	Verdict string `json:"verdict"`
}

// Scored is a policy's scores of one metric: a row per training seed, a column per workload seed.
type Scored struct {
	Name string
	// Kind decides of what a verdict holds; the zero value counts as a heuristic.
	Kind   catalog.Kind
	Scores stats.Scores
}

// Compare compares a with each baseline by a metric. The baselines form one family for Holm's correction; all scores must
// be of the same workloads ([stats.Scores.Check]).
func Compare(m Metric, a Scored, baselines []Scored, resamples int, key rng.Key) []Comparison {
	scores := lists.From(baselines, func(b Scored) stats.Scores { return b.Scores })
	var out []Comparison
	for i, c := range stats.Compare(a.Scores, scores, m.Bounds, resamples, key) {
		up := c.Improvement
		if m.Better == envs.Lower {
			up = stats.Interval{Point: 1 - up.Point, Low: 1 - up.High, High: 1 - up.Low}
		}
		next := Comparison{
			A: a.Name, B: baselines[i].Name, Metric: m.Name,
			Difference: Number(c.Difference.Point), Lo: Number(c.Difference.Low), Hi: Number(c.Difference.High),
			SimultaneousLo: Number(c.SimultaneousLow), SimultaneousHi: Number(c.SimultaneousHigh),
			P: Number(c.P), PHolm: Number(c.PHolm),
			Improvement: Number(up.Point), ImprovementLo: Number(up.Low), ImprovementHi: Number(up.High),
			Scope: scope(a, baselines[i]), Verdict: verdict(&c, m.Better),
		}
		next.overSeeds(m, a.Scores, baselines[i].Scores)
		out = append(out, next)
	}
	return out
}

// overSeeds adds the ranges over training seeds.
func (c *Comparison) overSeeds(m Metric, a, b stats.Scores) {
	missing := Number(math.NaN())
	c.SeedsLo, c.SeedsHi, c.ImprovementSeedsLo, c.ImprovementSeedsHi = missing, missing, missing, missing
	if len(a) == 1 && len(b) == 1 {
		return
	}
	lo, hi := stats.DifferenceRange(a, b)
	c.SeedsLo, c.SeedsHi = Number(lo), Number(hi)
	if lo, hi = stats.ImprovementRange(a, b); m.Better == envs.Lower {
		lo, hi = 1-hi, 1-lo
	}
	c.ImprovementSeedsLo, c.ImprovementSeedsHi = Number(lo), Number(hi)
}

func verdict(c *stats.Comparison, better envs.Better) string {
	switch {
	case better == envs.Neither || !c.Decided():
		return Undecided
	case (c.Difference.Point < 0) == (better == envs.Lower):
		return Better
	}
	return Worse
}

// scope names what a verdict about a against b holds for. With one training seed it holds for this checkpoint only.
func scope(a, b Scored) string {
	out := "this policy"
	switch {
	case a.OneCheckpoint():
		return "this checkpoint"
	case a.Kind == catalog.Learned:
		out = fmt.Sprintf("the method, over %d training seeds", len(a.Scores))
	}
	if b.OneCheckpoint() {
		out += ", against one checkpoint"
	}
	return out
}

// OneCheckpoint reports whether the policy was trained, with one training seed only.
func (s *Scored) OneCheckpoint() bool { return s.Kind == catalog.Learned && len(s.Scores) == 1 }

// Interval is the difference with its interval.
func (c *Comparison) Interval() report.Estimate {
	return report.Between(c.Difference, c.Lo, c.Hi)
}

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
	// ConstraintKept says that a keeps the constraint at least as well as b: it is not worse beyond chance, and shown to be
	// worse by less than the margin. ConstraintKeptByB says that b does as a.
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
	return one(s.Metrics, func(m *Metric) bool { return m.Name == name })
}

// one is the first of a list that is so, the zero value where none is.
func one[T any](list []T, is func(*T) bool) (none T) {
	for i := range list {
		if is(&list[i]) {
			return list[i]
		}
	}
	return none
}

// policy is the one of a name, the zero value where there is none.
func (s *Summary) policy(name string) PolicyResult {
	return one(s.Policies, func(p *PolicyResult) bool { return p.Name == name })
}

// verdict is that of a comparison by the objective and the one by the constraint beside it.
func (s *Summary) verdict(by Criteria, o Comparison) Verdict {
	v := Verdict{A: o.A, B: o.B, Objective: o.Metric, Scope: o.Scope, ConstraintKept: true, ConstraintKeptByB: true,
		ObjectiveVerdict: o.Verdict, Verdict: o.Verdict}
	if by.Constraint == nil {
		return v
	}
	m := *by.Constraint
	c := *s.comparison(v, m.Name)
	v.ConstraintVerdict = c.Verdict
	v.Constraint, v.Margin = m.Name, Number(by.margin(float64(s.policy(o.B).Metrics[m.Name].Mean)))
	ends := stats.Comparison{SimultaneousLow: float64(c.SimultaneousLo), SimultaneousHigh: float64(c.SimultaneousHi)}
	lower := m.Better == envs.Lower
	v.ConstraintKept = c.Verdict != Worse && ends.NotWorse(float64(v.Margin), lower)
	v.ConstraintKeptByB = c.Verdict != Better && ends.NotBetter(float64(v.Margin), lower)
	switch {
	case s.Infeasible != nil:
		v.Why = "no policy here serves the load"
	case o.Verdict == Infeasible:
		v.Why = "neither of the two serves the load"
	case o.Verdict == Better && v.ConstraintKept || o.Verdict == Worse && v.ConstraintKeptByB:
		v.Why = wordOf(o) + ", " + c.Metric + " kept at least as well"
		if o.Verdict == Worse {
			v.Why += " by " + o.B
		}
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
