package eval

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/table"
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
	// SimultaneousLo and SimultaneousHi hold for all rivals at once.
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

// Compare compares a with each rival by a metric. The rivals form one family for Holm's correction; all scores must
// be of the same workloads ([stats.Scores.Check]).
func Compare(m Metric, a Scored, rivals []Scored, resamples int, key rng.Key) []Comparison {
	scores := make([]stats.Scores, len(rivals))
	for i, b := range rivals {
		scores[i] = b.Scores
	}
	var out []Comparison
	for i, c := range stats.Compare(a.Scores, scores, m.Bounds, resamples, key) {
		up := c.Improvement
		if m.Better == envs.Lower {
			up = stats.Interval{Point: 1 - up.Point, Low: 1 - up.High, High: 1 - up.Low}
		}
		next := Comparison{
			A: a.Name, B: rivals[i].Name, Metric: m.Name,
			Difference: Number(c.Difference.Point), Lo: Number(c.Difference.Low), Hi: Number(c.Difference.High),
			SimultaneousLo: Number(c.SimultaneousLow), SimultaneousHi: Number(c.SimultaneousHigh),
			P: Number(c.P), PHolm: Number(c.PHolm),
			Improvement: Number(up.Point), ImprovementLo: Number(up.Low), ImprovementHi: Number(up.High),
			Scope: scope(a, rivals[i]), Verdict: verdict(&c, m.Better),
		}
		next.overSeeds(m, a.Scores, rivals[i].Scores)
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
func (c *Comparison) Interval() table.Estimate {
	return table.Estimate{At: float64(c.Difference), Low: float64(c.Lo), High: float64(c.Hi)}
}
