package eval

import (
	"fmt"
	"strings"

	"github.com/stoker-rl/stoker/agents/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/rng"
)

// Summary is eval.json: estimates and comparisons, for programs to read.
type Summary struct {
	Env      string `json:"env"`
	Workload any    `json:"workload"`
	// Seeds are the workload seeds, Split the part of the trace.
	Seeds []uint64 `json:"seeds"`
	Split string   `json:"split"`
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

// Plots names the quantities that figures show.
type Plots struct {
	// Scatter is x and y of the figure of policies as points; Series are drawn over time, a panel each.
	Scatter []Metric `json:"scatter"`
	Series  []Metric `json:"series"`
}

// NewPlots resolves the quantities that figures show.
func NewPlots(spec *envs.Spec, scatter, series []string) (Plots, error) {
	var p Plots
	if len(scatter) != 0 && len(scatter) != 2 {
		return p, fmt.Errorf("eval.scatter names %d quantities, want two: x and y", len(scatter))
	}
	var err error
	if len(scatter) > 0 {
		if p.Scatter, err = Metrics(spec, scatter); err != nil {
			return p, fmt.Errorf("eval.scatter: %w", err)
		}
	}
	if len(series) > 0 {
		if p.Series, err = Metrics(spec, series); err != nil {
			return p, fmt.Errorf("eval.series: %w", err)
		}
	}
	return p, nil
}

// Metric is one quantity compared.
type Metric struct {
	Name   string      `json:"name"`
	Unit   string      `json:"unit"`
	Better envs.Better `json:"better"`
	Doc    string      `json:"doc"`
}

// PolicyResult is one policy's estimates by metric name.
type PolicyResult struct {
	Name          string              `json:"name"`
	Kind          catalog.Kind        `json:"kind"`
	TrainingSeeds []uint64            `json:"training_seeds,omitempty"`
	Sources       []string            `json:"sources,omitempty"`
	Estimates     map[string]Estimate `json:"estimates"`
}

// Estimate is an interquartile mean with a 95 % interval.
type Estimate struct {
	IQM float64 `json:"iqm"`
	Lo  float64 `json:"lo"`
	Hi  float64 `json:"hi"`
	// Mean over the same scores, for comparison with papers that report means.
	Mean float64 `json:"mean"`
}

// Verdicts.
const (
	Better    = "better"
	Worse     = "worse"
	Undecided = "undecided"
)

// Comparison is a against b by one metric: the mean difference a − b under the same workloads.
type Comparison struct {
	A          string  `json:"a"`
	B          string  `json:"b"`
	Metric     string  `json:"metric"`
	Difference float64 `json:"difference"`
	Lo         float64 `json:"lo"`
	Hi         float64 `json:"hi"`
	// SimultaneousLo and SimultaneousHi hold for all rivals at once.
	SimultaneousLo float64 `json:"simultaneous_lo"`
	SimultaneousHi float64 `json:"simultaneous_hi"`
	P              float64 `json:"p"`
	PHolm          float64 `json:"p_holm"`
	// Improvement is the probability that a does better than b under one workload.
	Improvement float64 `json:"probability_of_improvement"`
	// Scope says of what the verdict holds: the method where it was trained with several seeds, else the checkpoint.
	Scope   string `json:"scope"`
	Verdict string `json:"verdict"`
}

// ReturnMetric is the episode's return, compared beside the environment's own quantities.
var ReturnMetric = Metric{Name: "return", Unit: "1", Better: envs.Higher, Doc: "sum over steps of the mean reward of the agents"}

// Metrics returns the metrics of the given names, or all quantities that have a better direction, and the return.
func Metrics(spec *envs.Spec, names []string) ([]Metric, error) {
	known := []Metric{}
	for _, q := range spec.Info {
		known = append(known, Metric{q.Name, q.Unit, q.Better, q.Doc})
	}
	known = append(known, ReturnMetric)
	if len(names) == 0 {
		var out []Metric
		for _, m := range known {
			if m.Better != envs.Neither {
				out = append(out, m)
			}
		}
		return out, nil
	}
	var out []Metric
	for _, n := range names {
		i := indexOf(known, n)
		if i < 0 {
			var all []string
			for _, m := range known {
				all = append(all, m.Name)
			}
			return nil, fmt.Errorf("metric %q: %s reports %s", n, spec.ID, strings.Join(all, ", "))
		}
		out = append(out, known[i])
	}
	return out, nil
}

func indexOf(ms []Metric, name string) int {
	for i, m := range ms {
		if m.Name == name {
			return i
		}
	}
	return -1
}

// Scores returns a contestant's values of a metric.
func (p *Played) Scores(contestant int, m Metric) stats.Scores {
	at := -1
	if m.Name != ReturnMetric.Name {
		at, _ = p.Spec.InfoIndex(m.Name) // Metrics has checked the name
	}
	out := make(stats.Scores, len(p.Episodes[contestant]))
	for v, eps := range p.Episodes[contestant] {
		for _, e := range eps {
			x := e.Return
			if at >= 0 {
				x = e.Info[at]
			}
			out[v] = append(out[v], x)
		}
	}
	return out
}

const statistic = "interquartile mean over training seeds and workload seeds; 95 % percentile bootstrap resampling both; " +
	"differences are means of paired differences, p by sign flips, Holm's correction over the rivals of a policy and metric; " +
	"better or worse needs p_holm < 0.05 and a simultaneous interval without zero"

// Summarise makes estimates of every contestant and compares each learned one with every other contestant. Where none is learned the
// first one is compared with the rest.
func Summarise(p *Played, metrics []Metric, resamples int, seed uint64) (*Summary, error) {
	s := &Summary{Env: p.Spec.ID, Seeds: p.Seeds, Statistic: statistic, Resamples: resamples, Metrics: metrics}
	key := rng.New(seed, "bootstrap")
	for c, con := range p.Contestants {
		r := PolicyResult{Name: con.Name, Kind: con.Kind, Estimates: map[string]Estimate{}}
		for _, v := range con.Versions {
			if v.Source != "" {
				r.TrainingSeeds, r.Sources = append(r.TrainingSeeds, v.TrainingSeed), append(r.Sources, v.Source)
			}
		}
		for k, m := range metrics {
			scores := p.Scores(c, m)
			if err := scores.Check(len(p.Seeds)); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", con.Name, m.Name, err)
			}
			iv := stats.IQMInterval(scores, resamples, key.With(0).With(uint64(c)).With(uint64(k)).Stream())
			r.Estimates[m.Name] = Estimate{iv.Point, iv.Low, iv.High, stats.Mean(scores.Flat())}
		}
		s.Policies = append(s.Policies, r)
	}
	for _, a := range champions(p.Contestants) {
		s.Comparisons = append(s.Comparisons, compare(p, a, metrics, resamples, key.With(1).With(uint64(a)))...)
	}
	return s, nil
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

func compare(p *Played, a int, metrics []Metric, resamples int, key rng.Key) []Comparison {
	var out []Comparison
	for k, m := range metrics {
		var rivals []stats.Scores
		var who []int
		for b := range p.Contestants {
			if b != a {
				rivals, who = append(rivals, p.Scores(b, m)), append(who, b)
			}
		}
		for i, c := range stats.Compare(p.Scores(a, m), rivals, resamples, key.With(uint64(k))) {
			lower := m.Better == envs.Lower
			r := Comparison{
				A: p.Contestants[a].Name, B: p.Contestants[who[i]].Name, Metric: m.Name,
				Difference: c.Difference.Point, Lo: c.Difference.Low, Hi: c.Difference.High,
				SimultaneousLo: c.SimultaneousLow, SimultaneousHi: c.SimultaneousHigh, P: c.P, PHolm: c.PHolm,
				Improvement: c.Improvement, Scope: scope(p.Contestants[a]), Verdict: Undecided,
			}
			if lower {
				r.Improvement = 1 - r.Improvement
			}
			if c.Decided() && m.Better != envs.Neither {
				r.Verdict = Better
				if (c.Difference.Point < 0) != lower {
					r.Verdict = Worse
				}
			}
			out = append(out, r)
		}
	}
	return out
}

// scope says of what a verdict about a contestant holds.
func scope(c Contestant) string {
	switch {
	case c.Kind != catalog.Learned:
		return "this policy"
	case len(c.Versions) == 1:
		return "this checkpoint"
	}
	return fmt.Sprintf("the method, over %d training seeds", len(c.Versions))
}
