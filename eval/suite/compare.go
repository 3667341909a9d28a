package suite

import (
	"strings"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/rng"
)

// Comparison is a paired comparison under one setting, as eval.json has them.
type Comparison struct {
	// Setting says in what both played, where a suite has several.
	Setting string `json:"setting"`
	eval.Comparison
}

// Scored is a policy's scores of one metric: a row per training seed, a column per workload seed.
type Scored struct {
	Name string
	// Kind is heuristic where it is empty.
	Kind   catalog.Kind
	Scores stats.Scores
}

// Compare adds the comparisons of a with each rival, which form one family for Holm's correction, and returns them.
func (r *Report) Compare(setting string, m eval.Metric, a Scored, rivals ...Scored) []Comparison {
	var scores []stats.Scores
	for _, s := range append([]Scored{a}, rivals...) {
		if err := s.Scores.Check(len(r.seeds)); err != nil {
			r.fail("comparing %s with %d rivals in %s: %s: %w", a.Name, len(rivals), setting, s.Name, err)
			return nil
		}
		scores = append(scores, s.Scores)
	}
	var out []Comparison
	for i, c := range stats.Compare(scores[0], scores[1:], Resamples, rng.New(1, "suite/compare")) {
		up := c.Improvement
		if m.Better == envs.Lower {
			up = stats.Interval{Point: 1 - up.Point, Low: 1 - up.High, High: 1 - up.Low}
		}
		out = append(out, Comparison{setting, eval.Comparison{
			A: a.Name, B: rivals[i].Name, Metric: m.Name,
			Difference: eval.Number(c.Difference.Point), Lo: eval.Number(c.Difference.Low), Hi: eval.Number(c.Difference.High),
			SimultaneousLo: eval.Number(c.SimultaneousLow), SimultaneousHi: eval.Number(c.SimultaneousHigh), P: eval.Number(c.P), PHolm: eval.Number(c.PHolm),
			Improvement: eval.Number(up.Point), ImprovementLo: eval.Number(up.Low), ImprovementHi: eval.Number(up.High),
			Scope: scope(a, rivals[i]), Verdict: verdict(&c, m.Better),
		}})
	}
	r.result.Comparisons = append(r.result.Comparisons, out...)
	return out
}

func verdict(c *stats.Comparison, better envs.Better) string {
	switch {
	case better == envs.Neither || !c.Decided():
		return eval.Undecided
	case (c.Difference.Point < 0) == (better == envs.Lower):
		return eval.Better
	}
	return eval.Worse
}

// scope says of what a verdict holds: what was trained once is known by that checkpoint only.
func scope(a, b Scored) string {
	var parts []string
	for _, s := range []Scored{a, b} {
		if s.Kind == catalog.Learned && len(s.Scores) == 1 {
			parts = append(parts, "one checkpoint of "+s.Name)
		}
	}
	if len(parts) == 0 {
		return "these policies"
	}
	return strings.Join(parts, ", ")
}
