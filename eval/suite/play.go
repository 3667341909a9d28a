package suite

import (
	"context"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/rng"
)

// Entry is a policy with the environment that it plays in. Entries whose environments differ (in their pool, their prices) are paired
// all the same: a workload seed draws the same world for all.
type Entry struct {
	eval.Contestant
	// NewEnv makes the environment; each goroutine makes its own.
	NewEnv func() (envs.Env, error)
}

// Games are what entries played.
type Games struct {
	Entries []Entry
	Seeds   []uint64
	parts   []*eval.Played
}

// Plan says what is played.
type Plan struct {
	// Stage names it for the progress.
	Stage   string
	Entries []Entry
	Seeds   []uint64
	// Steps keeps every step's quantities for [Games.Series]; without it only whole episodes are kept.
	Steps bool
	// Stochastic lets policies draw their actions.
	Stochastic bool
}

// Play plays every entry under every seed. Entries' names need not differ. The result does not depend on the number of workers.
func Play(ctx context.Context, o *Options, p Plan) (*Games, error) {
	if len(p.Entries) == 0 || len(p.Seeds) == 0 {
		return nil, fmt.Errorf("%s: %d entries under %d workload seeds, want at least one of each", p.Stage, len(p.Entries), len(p.Seeds))
	}
	all := 0
	for i := range p.Entries {
		all += len(p.Entries[i].Versions) * len(p.Seeds)
	}
	count := o.counter(p.Stage, all)
	workers := o.workers()
	each := max(1, (workers+len(p.Entries)-1)/len(p.Entries)) // of them on one entry
	traced := 0
	if p.Steps {
		traced = len(p.Seeds)
	}
	g := &Games{Entries: p.Entries, Seeds: p.Seeds, parts: make([]*eval.Played, len(p.Entries))}
	err := parallel(ctx, workers, len(p.Entries), func(i int) error {
		e := &p.Entries[i]
		played, err := eval.Run(ctx, eval.Request{
			NewEnv: e.NewEnv, Contestants: []eval.Contestant{e.Contestant}, Seeds: p.Seeds, Workers: each, Stochastic: p.Stochastic, Traced: traced,
			Progress: func(int, int) { count(1) },
		})
		if err != nil {
			return fmt.Errorf("%s: %w", p.Stage, err)
		}
		g.parts[i] = played
		return nil
	})
	return g, err
}

// Scores are an entry's values of a quantity that its environment reports, or of the return ([eval.ReturnMetric]), by training and workload
// seed.
func (g *Games) Scores(entry int, quantity string) (stats.Scores, error) {
	p, err := g.part(entry)
	if err != nil {
		return nil, err
	}
	s, err := p.Scores(0, eval.Metric{Name: quantity})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", g.Entries[entry].Name, err)
	}
	return s, nil
}

// Series are an entry's values of a quantity at every step, [seed][step], of its first version. The plan must keep steps.
func (g *Games) Series(entry int, quantity string) ([][]float64, error) {
	p, err := g.part(entry)
	if err != nil {
		return nil, err
	}
	at, err := p.Spec.InfoIndex(quantity)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", g.Entries[entry].Name, err)
	}
	if len(p.Steps[0]) == 0 {
		return nil, fmt.Errorf("%s: %s by step: steps were not kept; set Plan.Steps", g.Entries[entry].Name, quantity)
	}
	out := make([][]float64, len(g.Seeds))
	for _, s := range p.Steps[0] {
		i := slices.Index(g.Seeds, s.Seed)
		out[i] = append(out[i], s.Info[at])
	}
	return out, nil
}

func (g *Games) part(entry int) (*eval.Played, error) {
	if entry < 0 || entry >= len(g.parts) {
		return nil, fmt.Errorf("entry %d of %d", entry, len(g.parts))
	}
	return g.parts[entry], nil
}

// Cumulative replaces each series by its running sum.
func Cumulative(series [][]float64) [][]float64 {
	out := make([][]float64, len(series))
	for i, s := range series {
		sum := 0.0
		for _, x := range s {
			sum += x
			out[i] = append(out[i], sum)
		}
	}
	return out
}

// bandResamples is the number of bootstrap resamples at a step: fewer than for a number in a table, since nobody reads it off to two figures.
const bandResamples = 1000

// Band is the interquartile mean over seeds at each step with its 95 % bootstrap interval, as far as all series reach.
func Band(series [][]float64) []Estimate {
	if len(series) == 0 {
		return nil
	}
	n := len(series[0])
	for _, s := range series {
		n = min(n, len(s))
	}
	out := make([]Estimate, n)
	column := make([]float64, len(series))
	for t := range out {
		for i, s := range series {
			column[i] = s[t]
		}
		iv := stats.IQMInterval(stats.Scores{column}, bandResamples, rng.New(1, "suite/band").Stream())
		out[t] = Estimate{iv.Point, iv.Low, iv.High}
	}
	return out
}
