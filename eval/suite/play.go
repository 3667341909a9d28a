package suite

import (
	"context"
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/rng"
)

// Play plays a request as a stage of the suite: with the options' workers and progress. Contestants that have
// an environment of their own need not differ by name.
func (o *Options) Play(ctx context.Context, stage string, r eval.Request) (*eval.Played, error) {
	r.Workers = o.workers()
	if show := o.progress(stage); show != nil {
		r.Progress = func(p eval.Progress) { show(p.Done, p.All) }
	}
	p, err := eval.Run(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", stage, err)
	}
	return p, nil
}

// Each does n independent parts of a stage with the options' workers, as [eval.Each] does.
func (o *Options) Each(ctx context.Context, stage string, n int, do func(i int) error) error {
	return eval.Each(ctx, o.workers(), n, o.progress(stage), func(_, i int) error { return do(i) })
}

func (o *Options) progress(stage string) func(done, all int) {
	if o.Progress == nil {
		return nil
	}
	return func(done, all int) { o.Progress(stage, done, all) }
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

// bandResamples is the number of bootstrap resamples at a step: fewer than for a number in a table, since nobody
// reads a band off to two figures.
const bandResamples = 1000

// Band is the interquartile mean over seeds at each step with its 95 % bootstrap interval, as far as all series reach.
func Band(series [][]float64) []table.Estimate {
	if len(series) == 0 {
		return nil
	}
	n := len(series[0])
	for _, s := range series {
		n = min(n, len(s))
	}
	out := make([]table.Estimate, n)
	column := make([]float64, len(series))
	for t := range out {
		for i, s := range series {
			column[i] = s[t]
		}
		out[t] = table.Of(stats.IQMInterval(stats.Scores{column}, envs.Bounds{}, bandResamples, rng.New(1, "suite/band").Stream()))
	}
	return out
}
