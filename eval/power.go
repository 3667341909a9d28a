package eval

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/train"
)

// PowerRow is the probability of a verdict in a comparison that could be made.
type PowerRow struct {
	// Metric, A and B are of the pilot that deviations and difference are from; empty where there was none.
	Metric string `json:"metric,omitempty"`
	A      string `json:"a,omitempty"`
	B      string `json:"b,omitempty"`
	// Difference is the true mean of A − B that is assumed, Deviation that of paired differences between workloads,
	// SeedDeviation that between training seeds, all in Unit.
	Difference    float64 `json:"difference"`
	Deviation     float64 `json:"deviation"`
	SeedDeviation float64 `json:"seed_deviation"`
	Unit          string  `json:"unit"`
	TrainingSeeds int     `json:"training_seeds"`
	WorkloadSeeds int     `json:"workload_seeds"`
	Baselines     int     `json:"baselines"`
	// Power is the probability that eval declares the difference.
	Power float64 `json:"power"`
}

// PowerPlan says which comparisons are asked about.
type PowerPlan struct {
	// Effects are true differences over the deviation between workloads, where there is no pilot.
	Effects []float64
	// SeedDeviation is that between training seeds over that between workloads, where there is no pilot.
	SeedDeviation       float64
	Training, Workloads []int
	Baselines           int
	// Metrics of a pilot, all where none is named.
	Metrics []string
	// Trials are simulated for each row.
	Trials int
}

func (p PowerPlan) check() error {
	if p.Trials < 100 {
		return train.Usage("%d trials, want at least 100", p.Trials)
	}
	for _, n := range slices.Concat(p.Training, p.Workloads) {
		if n < 1 || n > 10_000 {
			return train.Usage("%d seeds, want 1 to 10000", n)
		}
	}
	return nil
}

func (p PowerPlan) row(r PowerRow) (PowerRow, error) {
	var err error
	r.Power, err = stats.Power(stats.Plan{
		Effect: r.Difference, Variation: stats.Variation{Seeds: r.SeedDeviation, Workloads: r.Deviation},
		TrainingSeeds: r.TrainingSeeds, WorkloadSeeds: r.WorkloadSeeds, Baselines: r.Baselines,
	}, p.Trials, rng.New(1, "power"))
	if err != nil {
		err = train.Usage("%w", err)
	}
	return r, err
}

// PowerTable is the probability of a verdict for differences given in deviations.
func PowerTable(p PowerPlan) ([]PowerRow, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	var out []PowerRow
	for _, m := range p.Training {
		for _, n := range p.Workloads {
			for _, e := range p.Effects {
				r, err := p.row(PowerRow{Difference: e, Deviation: 1, SeedDeviation: p.SeedDeviation, Unit: "deviations",
					TrainingSeeds: m, WorkloadSeeds: n, Baselines: p.Baselines})
				if err != nil {
					return nil, err
				}
				out = append(out, r)
			}
		}
	}
	return out, nil
}

// PowerOf takes an evaluation as a pilot: how probable a verdict of each comparison in it would be with other numbers
// of seeds, were the differences and deviations those that it saw. With one training seed nothing is known of how
// those differ, and the rows are of that one checkpoint.
func PowerOf(dir string, p PowerPlan) ([]PowerRow, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	s, err := ReadSummary(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if _, e := os.Stat(dir); e != nil {
			return nil, train.Missing(dir, "the folder of an evaluation")
		}
		return nil, train.Usage("%w", err)
	}
	if err != nil {
		return nil, err
	}
	t, err := report.ReadFile(dir, ScoresFile)
	if err == nil && t == nil {
		err = fmt.Errorf("%s is missing", filepath.Join(dir, ScoresFile))
	}
	if err != nil {
		return nil, err
	}
	if s.Traces > 0 && len(t.Rows) > 0 && t.Text(t.Rows[0], traceColumn) == "" {
		return nil, train.Usage("%s was made by an older version, which did not note traces: evaluate again", filepath.Join(dir, ScoresFile))
	}
	for _, name := range p.Metrics {
		if !slices.ContainsFunc(s.Metrics, func(m Metric) bool { return m.Name == name }) {
			return nil, train.Usage("metric %q is not among those of %s: %s", name, dir, strings.Join(namesOf(s.Metrics), ", "))
		}
	}
	var out []PowerRow
	for _, m := range s.Metrics {
		if m.Better == "" || len(p.Metrics) > 0 && !slices.Contains(p.Metrics, m.Name) {
			continue
		}
		upward := m
		upward.Better = "" // scores as they are
		for _, c := range s.Comparisons {
			if c.Metric != m.Name {
				continue
			}
			rows, err := p.pilot(sampleOf(t, c.A, upward), sampleOf(t, c.B, upward),
				PowerRow{Metric: m.Name, A: c.A, B: c.B, Unit: m.Unit, Baselines: len(s.Policies) - 1})
			if err != nil {
				return nil, fmt.Errorf("%s: %s, %s against %s: %w", filepath.Join(dir, ScoresFile), m.Name, c.A, c.B, err)
			}
			out = append(out, rows...)
		}
	}
	return out, nil
}

// sampleOf is [scoresOf] with a column for each trace that was drawn, as in [Played.Sample].
func sampleOf(t *report.File, policy string, m Metric) stats.Scores {
	all := scoresOf(t, policy, m)
	var names []string
	var of []int // the trace of each episode
	for _, r := range t.Rows {
		if t.Text(r, "policy") != policy || t.Text(r, "metric") != m.Name || len(of) == len(all[0]) {
			continue
		}
		name := t.Text(r, traceColumn)
		if name == "" {
			return all
		}
		i := slices.Index(names, name)
		if i < 0 {
			i, names = len(names), append(names, name)
		}
		of = append(of, i)
	}
	return byTrace(all, of, len(names))
}

// pilot makes the rows of one comparison.
func (p PowerPlan) pilot(a, b stats.Scores, r PowerRow) ([]PowerRow, error) {
	if len(a) == 0 || len(b) == 0 || len(a[0]) < 2 {
		return nil, errors.New("want scores of both under at least two workloads")
	}
	if err := errors.Join(a.Check(len(a[0])), b.Check(len(a[0]))); err != nil {
		return nil, err
	}
	v := stats.Pilot(a, b)
	r.Difference, r.Deviation, r.SeedDeviation = stats.Mean(a.Flat())-stats.Mean(b.Flat()), v.Workloads, v.Seeds
	training := p.Training
	if math.IsNaN(v.Seeds) {
		training, r.SeedDeviation = []int{1}, 0
	}
	var out []PowerRow
	for _, m := range training {
		for _, n := range p.Workloads {
			r.TrainingSeeds, r.WorkloadSeeds = m, n
			row, err := p.row(r)
			if err != nil {
				return nil, err
			}
			out = append(out, row)
		}
	}
	return out, nil
}
