package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/pareto"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/rng"
)

// Summary is eval.json: estimates and comparisons, for programs to read.
type Summary struct {
	Env string `json:"env"`
	// EnvConfig and Workload are the configurations of both.
	EnvConfig any `json:"env_config"`
	Workload  any `json:"workload"`
	// Load is the load, what the ranges serve of it, and the loads that policies were trained on; none where the
	// environment has none.
	Load *envs.LoadReport `json:"load,omitempty"`
	// Seeds are the workload seeds, Split the part of the trace.
	Seeds []uint64 `json:"seeds"`
	// Traces is the number of recorded traces that the episodes drew; the sample is then of traces, each the mean of its
	// episodes. 0 where they draw none: the sample is of workload seeds.
	Traces int    `json:"traces,omitempty"`
	Split  string `json:"split"`
	// Stochastic says that policies drew their actions; else they took the likeliest.
	Stochastic bool `json:"stochastic"`
	// Summary is the evaluation in one sentence.
	Summary string `json:"summary"`
	// Statistic says how the numbers are made, in a sentence.
	Statistic string         `json:"statistic"`
	Resamples int            `json:"resamples"`
	Metrics   []Metric       `json:"metrics"`
	Policies  []PolicyResult `json:"policies"`
	// Out are the policies that failed in the middle.
	Out []Out `json:"out,omitempty"`
	// Objective, Constraint and RelativeTolerance are what Verdicts are made by; an empty constraint is none.
	Objective         string  `json:"objective"`
	Constraint        string  `json:"constraint"`
	RelativeTolerance float64 `json:"relative_tolerance"`
	// Infeasible is set where no policy serves the load.
	Infeasible *Unserved `json:"infeasible,omitempty"`
	// Verdicts are on every policy compared and each of the others; Comparisons are by single metrics.
	Verdicts    []Verdict    `json:"verdicts"`
	Comparisons []Comparison `json:"comparisons"`
	// Methods are what the policies are settings of, and Frontier is the objective over the constraint of each, with the
	// prices at equal violations; none where there is no such frontier.
	Methods  []Method       `json:"methods,omitempty"`
	Frontier *pareto.Result `json:"frontier,omitempty"`
	// Settings are what the numbers depend on, SettingsDigest is their digest.
	Settings       Settings `json:"settings,omitempty"`
	SettingsDigest string   `json:"settings_digest,omitempty"`
	Command        []string `json:"command"`
	Version        string   `json:"version"`
	Revision       string   `json:"revision"`
	// Plots say what the figures show, Figures are the files drawn, relative to the folder.
	Plots   Plots    `json:"plots"`
	Figures []string `json:"figures"`
}

// PolicyResult is one policy's estimates by metric name.
type PolicyResult struct {
	Name          string       `json:"name"`
	Kind          catalog.Kind `json:"kind"`
	TrainingSeeds []uint64     `json:"training_seeds,omitempty"`
	Sources       []string     `json:"sources,omitempty"`
	// Foreign says that it was trained elsewhere, so that its training budget is not known; Note is what else a reader
	// must know of it.
	Foreign bool                `json:"foreign,omitempty"`
	Note    string              `json:"note,omitempty"`
	Metrics map[string]Estimate `json:"metrics"`
}

// Estimate is the mean and the interquartile mean of the same scores with 95 % intervals; null in JSON where a score is
// missing. Tables and figures show the mean, whose differences comparisons are of.
type Estimate struct {
	// IQM lies in Lo to Hi.
	IQM    Number `json:"iqm"`
	Lo     Number `json:"lo"`
	Hi     Number `json:"hi"`
	Mean   Number `json:"mean"`
	MeanLo Number `json:"mean_lo"`
	MeanHi Number `json:"mean_hi"`
	// BySeed are the means of the training seeds, where there are several. With fewer than stats.FewSeeds their range is
	// shown in place of the interval.
	BySeed []Number `json:"by_training_seed,omitempty"`
}

const statistic = "mean over training seeds and workload seeds; 95 % intervals within the metric's bounds by a " +
	"bootstrap that resamples both, nowhere narrower than Student's t; with two or three training seeds their range in " +
	"place of an interval; differences are of these means, paired by workload; p by sign flips over " +
	"workloads and, with several training seeds, not below Welch's t over both; Holm's correction over the baselines " +
	"of a policy and metric; better or worse needs p_holm below 0.05 and a simultaneous interval without zero"

// Analysis says what is made of what was played.
type Analysis struct {
	// Metrics are compared. Those that the scatter figure shows are added where they are missing.
	Metrics []Metric
	Plots   Plots
	// Criteria are what verdicts are made by; without an objective the first metric is it.
	Criteria Criteria
	// Resamples is the number of bootstrap resamples, at least 100; Seed names their draws.
	Resamples int
	Seed      uint64
}

// NewAnalysis is the analysis that the section eval asks for. An error names the key whose value the environment does not have.
func NewAnalysis(spec *envs.Spec, e configs.Eval) (Analysis, error) {
	a := Analysis{Resamples: e.Resamples, Seed: 1}
	var err error
	if a.Metrics, err = Metrics(spec, e.Metrics); err != nil {
		return a, fmt.Errorf("eval.metrics: %w", err)
	}
	if a.Criteria, err = NewCriteria(spec, e.Constraint, e.Objective, e.RelativeTolerance); err != nil {
		return a, err
	}
	a.Plots, err = NewPlots(spec, e.Scatter, e.Series)
	return a, err
}

// Summarise makes estimates of every contestant and compares each learned one with every other contestant. Where none
// is learned the first one is compared with the rest.
func Summarise(p *Played, a Analysis) (*Summary, error) {
	if a.Resamples < 100 {
		return nil, fmt.Errorf("eval: %d resamples, want at least 100", a.Resamples)
	}
	metrics := slices.Clone(a.Metrics)
	for _, m := range a.Plots.Scatter {
		metrics = added(metrics, m)
	}
	if metrics = a.Criteria.with(metrics); len(metrics) == 0 {
		return nil, fmt.Errorf("eval: no metrics to compare in %s", p.Spec.ID)
	}
	if a.Criteria.Objective.Name == "" {
		a.Criteria.Objective = metrics[0]
	}
	s := &Summary{Env: p.Spec.ID, Seeds: p.Seeds, Traces: p.drew(), Stochastic: p.Stochastic, Statistic: statistic, Resamples: a.Resamples,
		Metrics: metrics, Plots: a.Plots, Comparisons: []Comparison{}, Objective: a.Criteria.Objective.Name,
		RelativeTolerance: a.Criteria.RelativeTolerance, Out: p.Out}
	if c := a.Criteria.Constraint; c != nil {
		s.Constraint = c.Name
	}
	if s.Traces > 0 {
		s.Statistic = "a trace counts once, as the mean of its episodes, and stands for a workload seed in what follows; " + s.Statistic
	}
	all, err := allScores(p, metrics)
	if err != nil {
		return nil, err
	}
	key := rng.New(a.Seed, "bootstrap")
	for c, con := range p.Contestants {
		r := PolicyResult{Name: con.Name, Kind: con.Kind, Foreign: con.Foreign, Metrics: map[string]Estimate{}}
		for _, v := range con.Versions {
			if v.Together != nil {
				r.Note = v.Together.Note()
			}
			if v.Source != "" {
				r.Sources = append(r.Sources, v.Source)
			}
			if v.Source != "" && (!con.Foreign || len(con.Versions) > 1) { // of one from elsewhere it is not known
				r.TrainingSeeds = append(r.TrainingSeeds, v.TrainingSeed)
			}
		}
		for k, m := range metrics {
			of := func(kind uint64) *rng.Stream { return key.With(kind).With(uint64(c)).With(uint64(k)).Stream() }
			r.Metrics[m.Name] = estimate(all[k][c].Scores, m, a.Resamples, of(0), of(2))
		}
		s.Policies = append(s.Policies, r)
	}
	for _, c := range comparedAmong(p.Contestants) {
		for k, m := range metrics {
			of := key.With(1).With(uint64(c)).With(uint64(k))
			baselines := slices.Delete(slices.Clone(all[k]), c, c+1)
			s.Comparisons = append(s.Comparisons, Compare(m, all[k][c], baselines, a.Resamples, of)...)
		}
	}
	slices.SortStableFunc(s.Policies, func(a, b PolicyResult) int { return bounds(a.Kind) - bounds(b.Kind) })
	slices.SortStableFunc(s.Comparisons, func(a, b Comparison) int {
		if a.A != b.A || a.Metric != b.Metric {
			return 0
		}
		return bounds(s.policy(a.B).Kind) - bounds(s.policy(b.B).Kind)
	})
	s.decide(a.Criteria)
	s.Summary = s.sentence()
	return s, nil
}

// estimate is what scores say of a metric; the streams are those of the resamples of the IQM and of the mean.
func estimate(scores stats.Scores, m Metric, resamples int, iqm, mean *rng.Stream) Estimate {
	q, x := stats.IQMInterval(scores, m.Bounds, resamples, iqm), stats.MeanOf(scores, m.Bounds, resamples, mean)
	e := Estimate{IQM: Number(q.Point), Lo: Number(q.Low), Hi: Number(q.High),
		Mean: Number(x.Point), MeanLo: Number(x.Low), MeanHi: Number(x.High)}
	if len(scores) > 1 {
		for _, row := range scores {
			e.BySeed = append(e.BySeed, Number(stats.Mean(row)))
		}
	}
	return e
}

// allScores is [metric][contestant].
func allScores(p *Played, metrics []Metric) ([][]Scored, error) {
	all, columns := make([][]Scored, len(metrics)), len(p.Seeds)
	if n := p.drew(); n > 0 {
		columns = n
	}
	for k, m := range metrics {
		for c, con := range p.Contestants {
			scores, err := p.Sample(c, m)
			if err != nil {
				return nil, err
			}
			if err := scores.Check(columns); err != nil {
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
	return slices.DeleteFunc(slices.Clone(s.Comparisons), func(c Comparison) bool { return c.A != a || c.Metric != metric })
}

// compared lists the policies whose comparisons there are.
func (s *Summary) compared() []string {
	return lists.Distinct(lists.From(s.Comparisons, func(c Comparison) string { return c.A }))
}

// hopeless is the share of violations from which on an oracle keeps nothing.
const hopeless = 0.995

// SetLoad adds what there is to say of the load. Where an oracle too violates everything, it says so in place of the
// plain warning.
func (s *Summary) SetLoad(p *Played, r *envs.LoadReport) error {
	s.Load = r
	if r == nil || s.Constraint == "" {
		return nil
	}
	if r.Serves == 0 && r.Unmet == "" {
		return nil // it is not known what is served
	}
	if s.Infeasible != nil && r.Serves > 0 && !r.Overloaded() {
		r.Warnings = append(r.Warnings, "no policy here serves the load, though a steady one of that mean can be served: "+r.Bound())
		return nil
	}
	metrics, err := Metrics(p.Spec, []string{s.Constraint})
	if err != nil {
		return err
	}
	of, ok := strings.CutPrefix(metrics[0].Unit, "share of ")
	if !ok {
		return nil
	}
	for c, con := range p.Contestants {
		if con.Kind != catalog.Oracle {
			continue
		}
		scores, err := p.Scores(c, metrics[0])
		if err != nil {
			return err
		}
		if stats.Mean(scores.Flat()) < hopeless {
			continue
		}
		why := cmp.Or(r.Unmet, r.Bound())
		r.Warnings = slices.DeleteFunc(r.Warnings, func(w string) bool { return strings.HasSuffix(w, why) })
		r.Warnings = append([]string{fmt.Sprintf("%s, which knows the load to come, too violates all %s: %s", con.Name, of, why)},
			r.Warnings...)
		break
	}
	return nil
}
