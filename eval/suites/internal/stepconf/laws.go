package stepconf

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// Memory sizes of a platform in MB, and those that StepConf profiles.
var (
	sizes    = []float64{512, 1024, 1769, 2048, 3072, 4096, 5120, 6144, 7168, 8192, 9216, 10240}
	profiled = []float64{512, 1024, 2048, 4096, 10240}
	bySize   = report.Axis{Name: "size", Len: len(sizes)}
)

// program is the benchmark that is measured in Figs. 5, 6, 16 and 17: it tests large numbers for being prime, as the
// paper's does. It is no instance of eq. 1: an instance has MB/1769 cores, a process of one thread runs at most on one,
// and jobs are whole. So the error of a fitted law is that of its form.
type program struct {
	name string
	// work is the core-seconds of a job, start what an instance needs before its first job, in seconds.
	work, start float64
	// share of the jobs that use all cores, the paper's multi-core ratio.
	share float64
	// cv is the coefficient of variation of an instance's time.
	cv float64
}

// seconds is the mean time of an instance with some jobs and mb megabytes, in q processes.
func (p program) seconds(jobs, mb, q float64) float64 {
	cores := mb / memory.SingleCore
	// Jobs of one thread are shared out over the processes, which share the cores.
	processes := min(q, jobs)
	round := math.Ceil(float64((1-p.share)*jobs)/processes) * max(1, processes/cores)
	return p.start + float64(p.work*(round+float64(p.share*jobs)/cores))
}

// measured is the mean of some runs, drawn from a key.
func (p program) measured(jobs, mb, q float64, runs int, key rng.Key) float64 {
	s := key.With(uint64(jobs)).With(uint64(mb)).With(uint64(q)).Stream()
	sigma := math.Sqrt(math.Log1p(float64(p.cv * p.cv)))
	var sum float64
	for range runs {
		sum += portable.Exp(float64(sigma*s.Norm()) - float64(sigma*sigma)/2)
	}
	return float64(p.seconds(jobs, mb, q)*sum) / float64(runs)
}

// The paper's three cases (Figs. 16a to 16c, 17).
var (
	single    = program{name: "one core", work: 0.5, start: 0.2, cv: 0.02}
	multicore = program{name: "several cores", work: 0.5, start: 0.2, share: 1, cv: 0.02}
)

// fit fits eq. 1 to profiling runs of a program at the five sizes and some numbers of jobs.
func (p program) fit(jobs []float64, q float64, runs int, key rng.Key) (memory.Pieces, error) {
	return memory.FitPieces(p.profile(jobs, q, runs, key), p.share > 0, memory.Options{})
}

// profile are the runs that a fit is made from.
func (p program) profile(jobs []float64, q float64, runs int, key rng.Key) []memory.Job {
	var all []memory.Job
	for _, n := range jobs {
		for _, mb := range profiled {
			all = append(all, memory.Job{Jobs: n, MB: mb, Q: q, Seconds: p.measured(n, mb, q, runs, key)})
		}
	}
	return all
}

// Of Figs. 5 and 6: an instance with so many jobs, each point the mean of so many runs.
const (
	lawJobs = 24
	lawRuns = 10
)

// laws are the curves of Figs. 5 and 6: seconds over memory, by curve and size.
type laws struct {
	processes, ratios []float64 // the curves of Fig. 5 and of Fig. 6
	fig5, fig6        *report.Cube[float64]
}

func measureLaws(ctx context.Context, o *suite.Options) (*laws, error) {
	l := &laws{processes: []float64{1, 2, 4, 6}, ratios: []float64{0, 0.5, 0.75, 1}}
	l.fig5 = report.NewCube[float64](len(o.Seeds), report.Axis{Name: "processes", Len: len(l.processes)}, bySize)
	l.fig6 = report.NewCube[float64](len(o.Seeds), report.Axis{Name: "share", Len: len(l.ratios)}, bySize)
	err := o.Each(ctx, "laws", len(o.Seeds), func(s int) error {
		key := rng.New(o.Seeds[s], "stepconf/laws")
		for m, mb := range sizes {
			for c, q := range l.processes {
				l.fig5.At(c, m)[s] = single.measured(lawJobs, mb, q, lawRuns, key.With(0))
			}
			for c, ratio := range l.ratios {
				p := single
				p.share = ratio
				l.fig6.At(c, m)[s] = p.measured(lawJobs, mb, 1, lawRuns, key.With(1))
			}
		}
		return nil
	})
	return l, err
}

// oneCore is the index of the size that gives one core.
const oneCore = 2

// largest is the time of a curve with 10,240 MB over that with one core, by seed.
func largest(curves *report.Cube[float64], curve int) []float64 {
	return report.Ratio(curves.At(curve, len(sizes)-1), curves.At(curve, oneCore))
}

func (l *laws) report(r *suite.Report) {
	one := 1.0
	measured(r, suite.Row{Figure: "5", Quantity: "one process: seconds with 10,240 MB over 1,769 MB", Unit: "1", Paper: &one,
		Note: "a flat line in the paper"}, largest(l.fig5, 0))
	measured(r, suite.Row{Figure: "5", Quantity: "six processes: seconds with 10,240 MB over 1,769 MB", Unit: "1"}, largest(l.fig5, 3))
	measured(r, suite.Row{Figure: "6", Quantity: "no multi-core code: seconds with 10,240 MB over 1,769 MB", Unit: "1", Paper: &one,
		Note: "a flat line in the paper"}, largest(l.fig6, 0))
	measured(r, suite.Row{Figure: "6", Quantity: "all multi-core code: seconds with 10,240 MB over 1,769 MB", Unit: "1",
		Note: "in proportion to memory it is 0.173"}, largest(l.fig6, 3))
	lawFigure(r, "fig5", "Code of one core: seconds of an instance over its memory, by processes. Beyond 1,769 MB only more "+
		"processes help.", "processes", l.processes, l.fig5)
	lawFigure(r, "fig6", "One process: seconds of an instance over its memory, by the share of its jobs that use all "+
		"cores.", "share of multi-core jobs", l.ratios, l.fig6)
}

func lawFigure(r *suite.Report, name, caption, what string, values []float64, curves *report.Cube[float64]) {
	fig := report.NewFigure(name, caption, chart.Figure{Title: "Time over memory", Columns: 1, Width: 11 * vg.Centimeter,
		Height: 7.5 * vg.Centimeter, Under: fmt.Sprintf("%d jobs, means of %d runs; bands: 95 %% over seeds; dotted: one core", lawJobs,
			lawRuns)}, what, "memory [MB]", "time [s]", "low [s]", "high [s]")
	p := fig.Panel("", "memory (MB)", "time of an instance (s)")
	p.LogY()
	for i, v := range values {
		fig.Key(chart.Entry{Line: true}, fmt.Sprintf("%s: %g", what, v))
		fig.Band(p, chart.Styles(i), sizes, func(m int) report.Estimate { return estimate(r, curves.At(i, m)) },
			func(m int, e report.Estimate) []any { return []any{v, sizes[m], e} })
	}
	p.LevelX(memory.SingleCore)
	r.Figure(*fig)
}
