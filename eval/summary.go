package eval

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/rng"
)

// Summary is eval.json: estimates and comparisons, for programs to read.
type Summary struct {
	Env string `json:"env"`
	// EnvConfig and Workload are the configurations of both.
	EnvConfig any `json:"env_config"`
	Workload  any `json:"workload"`
	// Seeds are the workload seeds, Split the part of the trace.
	Seeds []uint64 `json:"seeds"`
	Split string   `json:"split"`
	// Stochastic says that policies drew their actions; else they took the likeliest.
	Stochastic bool `json:"stochastic"`
	// Statistic says how the numbers are made, in a sentence.
	Statistic   string         `json:"statistic"`
	Resamples   int            `json:"resamples"`
	Metrics     []Metric       `json:"metrics"`
	Policies    []PolicyResult `json:"policies"`
	Comparisons []Comparison   `json:"comparisons"`
	Command     []string       `json:"command"`
	Version     string         `json:"version"`
	Revision    string         `json:"revision"`
	// Plots say what the figures show, Figures are the files drawn, relative to the folder.
	Plots   Plots    `json:"plots"`
	Figures []string `json:"figures"`
}

// PolicyResult is one policy's estimates by metric name.
type PolicyResult struct {
	Name          string              `json:"name"`
	Kind          catalog.Kind        `json:"kind"`
	TrainingSeeds []uint64            `json:"training_seeds,omitempty"`
	Sources       []string            `json:"sources,omitempty"`
	Metrics       map[string]Estimate `json:"metrics"`
}

// Estimate is an interquartile mean with a 95 % interval; null in JSON where a score is missing.
type Estimate struct {
	IQM Number `json:"iqm"`
	Lo  Number `json:"lo"`
	Hi  Number `json:"hi"`
	// Mean over the same scores, for comparison with papers that report means.
	Mean Number `json:"mean"`
}

// Verdicts.
const (
	Better    = "better"
	Worse     = "worse"
	Undecided = "undecided"
)

// Comparison is a against b by one metric: the mean difference a − b under the same workloads.
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
	P              Number `json:"p"`
	PHolm          Number `json:"p_holm"`
	// Improvement is the probability that a does better than b under one workload; where neither direction is better, that its
	// value is the higher.
	Improvement   Number `json:"probability_of_improvement"`
	ImprovementLo Number `json:"probability_of_improvement_lo"`
	ImprovementHi Number `json:"probability_of_improvement_hi"`
	// Scope says of what the verdict holds: the method where it was trained with several seeds, else the checkpoint.
	Scope string `json:"scope"`
	// Verdict is better or worse where a's difference from b is beyond chance, else undecided.
	Verdict string `json:"verdict"`
}

const statistic = "interquartile mean over training seeds and workload seeds; 95 % bootstrap intervals resampling both, percentiles " +
	"expanded for the number of workloads or, with several training seeds, stretched to Student's width; " +
	"differences are means of paired differences, their intervals stretched alike; p by sign flips over workloads and, with several " +
	"training seeds, not below Welch's t over both; Holm's correction over the rivals of a policy and metric; " +
	"better or worse needs p_holm below 0.05 and a simultaneous interval without zero"

// Analysis says what is made of what was played.
type Analysis struct {
	// Metrics are compared. Those that the scatter figure shows are added where they are missing.
	Metrics []Metric
	Plots   Plots
	// Resamples is the number of bootstrap resamples, at least 100; Seed names their draws.
	Resamples int
	Seed      uint64
}

// Summarise makes estimates of every contestant and compares each learned one with every other contestant. Where none is learned the
// first one is compared with the rest.
func Summarise(p *Played, a Analysis) (*Summary, error) {
	if a.Resamples < 100 {
		return nil, fmt.Errorf("eval: %d resamples, want at least 100", a.Resamples)
	}
	metrics := slices.Clone(a.Metrics)
	for _, m := range a.Plots.Scatter {
		if !slices.ContainsFunc(metrics, func(o Metric) bool { return o.Name == m.Name }) {
			metrics = append(metrics, m)
		}
	}
	if len(metrics) == 0 {
		return nil, fmt.Errorf("eval: no metrics to compare in %s", p.Spec.ID)
	}
	s := &Summary{Env: p.Spec.ID, Seeds: p.Seeds, Stochastic: p.Stochastic, Statistic: statistic, Resamples: a.Resamples,
		Metrics: metrics, Plots: a.Plots, Comparisons: []Comparison{}}
	all, err := allScores(p, metrics)
	if err != nil {
		return nil, err
	}
	key := rng.New(a.Seed, "bootstrap")
	for c, con := range p.Contestants {
		r := PolicyResult{Name: con.Name, Kind: con.Kind, Metrics: map[string]Estimate{}}
		for _, v := range con.Versions {
			if v.Source != "" {
				r.TrainingSeeds, r.Sources = append(r.TrainingSeeds, v.TrainingSeed), append(r.Sources, v.Source)
			}
		}
		for k, m := range metrics {
			iv := stats.IQMInterval(all[k][c], a.Resamples, key.With(0).With(uint64(c)).With(uint64(k)).Stream())
			r.Metrics[m.Name] = Estimate{Number(iv.Point), Number(iv.Low), Number(iv.High), Number(stats.Mean(all[k][c].Flat()))}
		}
		s.Policies = append(s.Policies, r)
	}
	for _, c := range champions(p.Contestants) {
		for k, m := range metrics {
			s.Comparisons = append(s.Comparisons, compare(p.Contestants, c, m, all[k], a.Resamples, key.With(1).With(uint64(c)).With(uint64(k)))...)
		}
	}
	return s, nil
}

// allScores is [metric][contestant].
func allScores(p *Played, metrics []Metric) ([][]stats.Scores, error) {
	all := make([][]stats.Scores, len(metrics))
	for k, m := range metrics {
		for c, con := range p.Contestants {
			scores, err := p.Scores(c, m)
			if err == nil {
				err = scores.Check(len(p.Seeds))
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", con.Name, m.Name, err)
			}
			all[k] = append(all[k], scores)
		}
	}
	return all, nil
}

// champions are the contestants whose comparisons are wanted.
func champions(list []Contestant) []int {
	var out []int
	for i, c := range list {
		if c.Kind == catalog.Learned {
			out = append(out, i)
		}
	}
	if len(out) == 0 && len(list) > 1 {
		out = []int{0}
	}
	return out
}

// compare compares contestant a with all others by metric m.
func compare(list []Contestant, a int, m Metric, scores []stats.Scores, resamples int, key rng.Key) []Comparison {
	rivals := slices.Delete(slices.Clone(scores), a, a+1)
	others := slices.Delete(slices.Clone(list), a, a+1)
	var out []Comparison
	for i, c := range stats.Compare(scores[a], rivals, resamples, key) {
		up := c.Improvement
		if m.Better == envs.Lower {
			up = stats.Interval{Point: 1 - up.Point, Low: 1 - up.High, High: 1 - up.Low}
		}
		out = append(out, Comparison{
			A: list[a].Name, B: others[i].Name, Metric: m.Name,
			Difference: Number(c.Difference.Point), Lo: Number(c.Difference.Low), Hi: Number(c.Difference.High),
			SimultaneousLo: Number(c.SimultaneousLow), SimultaneousHi: Number(c.SimultaneousHigh), P: Number(c.P), PHolm: Number(c.PHolm),
			Improvement: Number(up.Point), ImprovementLo: Number(up.Low), ImprovementHi: Number(up.High),
			Scope: scope(&list[a], &others[i]), Verdict: verdict(&c, m.Better),
		})
	}
	return out
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

// scope says of what a verdict about a against b holds. Trained once, a method is known by that checkpoint only.
func scope(a, b *Contestant) string {
	out := "this policy"
	switch {
	case a.Kind == catalog.Learned && len(a.Versions) == 1:
		return "this checkpoint"
	case a.Kind == catalog.Learned:
		out = fmt.Sprintf("the method, over %d training seeds", len(a.Versions))
	}
	if b.Kind == catalog.Learned && len(b.Versions) == 1 {
		out += ", against one checkpoint"
	}
	return out
}

// against returns the comparisons of a by a metric, in the order of policies.
func (s *Summary) against(a, metric string) []Comparison {
	var out []Comparison
	for _, c := range s.Comparisons {
		if c.A == a && c.Metric == metric {
			out = append(out, c)
		}
	}
	return out
}

// compared lists the policies whose comparisons there are.
func (s *Summary) compared() []string {
	var out []string
	for _, c := range s.Comparisons {
		if !slices.Contains(out, c.A) {
			out = append(out, c.A)
		}
	}
	return out
}
