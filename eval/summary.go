package eval

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/catalog"
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

const statistic = "interquartile mean over training seeds and workload seeds; 95 % bootstrap intervals resampling " +
	"both, percentiles expanded for the number of workloads or, with several training seeds, stretched to Student's " +
	"width; differences are means of paired differences, their intervals stretched alike; p by sign flips over " +
	"workloads and, with several training seeds, not below Welch's t over both; Holm's correction over the rivals " +
	"of a policy and metric; better or worse needs p_holm below 0.05 and a simultaneous interval without zero"

// Analysis says what is made of what was played.
type Analysis struct {
	// Metrics are compared. Those that the scatter figure shows are added where they are missing.
	Metrics []Metric
	Plots   Plots
	// Resamples is the number of bootstrap resamples, at least 100; Seed names their draws.
	Resamples int
	Seed      uint64
}

// Summarise makes estimates of every contestant and compares each learned one with every other contestant. Where none
// is learned the first one is compared with the rest.
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
			scores := all[k][c].Scores
			iv := stats.IQMInterval(scores, a.Resamples, key.With(0).With(uint64(c)).With(uint64(k)).Stream())
			mean := stats.Mean(scores.Flat())
			r.Metrics[m.Name] = Estimate{Number(iv.Point), Number(iv.Low), Number(iv.High), Number(mean)}
		}
		s.Policies = append(s.Policies, r)
	}
	for _, c := range comparedAmong(p.Contestants) {
		for k, m := range metrics {
			of := key.With(1).With(uint64(c)).With(uint64(k))
			rivals := slices.Delete(slices.Clone(all[k]), c, c+1)
			s.Comparisons = append(s.Comparisons, Compare(m, all[k][c], rivals, a.Resamples, of)...)
		}
	}
	return s, nil
}

// allScores is [metric][contestant].
func allScores(p *Played, metrics []Metric) ([][]Scored, error) {
	all := make([][]Scored, len(metrics))
	for k, m := range metrics {
		for c, con := range p.Contestants {
			scores, err := p.Scores(c, m)
			if err != nil {
				return nil, err
			}
			if err := scores.Check(len(p.Seeds)); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", con.Name, m.Name, err)
			}
			all[k] = append(all[k], Scored{con.Name, con.Kind, scores})
		}
	}
	return all, nil
}

// comparedAmong are the contestants that are compared with all others: the learned ones, else the first.
func comparedAmong(list []Contestant) []int {
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
