package stepconf

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/envs/perfmodel/quantile"
	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/rng"
)

// Of Figs. 7 and 17: what steps of the simulator move, and how many runs are seen.
const (
	invocations = 100 // from which the delays' quantiles are fitted
	several     = 8   // instances of a step in Fig. 17
	tailRuns    = 100 // behind a measured 90th percentile
)

// moves are transfers of an instance: objects, and MB of each.
var moves = []steps.Transfer{{Objects: 1, MB: 1}, {Objects: 1, MB: 16}, {Objects: 1, MB: 64}, {Objects: 16, MB: 1}, {Objects: 64, MB: 1},
	{Objects: 16, MB: 4}, {Objects: 4, MB: 4}, {Objects: 40, MB: 0.25}}

// tails are the moves whose spread is told: by one object, several, and many. It does not depend on the size.
var tails = []int{0, 3, 4}

// whole are ways to predict the time of a whole step from its parts.
var whole = []struct {
	name  string
	level float64
}{{"sum of medians, beside the mean", 0.5}, {"sum of P90s, beside the P90", 0.9}}

// estimated is how well the times of whole steps are predicted, and Fig. 7.
type estimated struct {
	fig7 [][]float64 // seconds of each move, sorted
	// error by way, case, number of jobs and size: |predicted/measured − 1|, mean over the repeats.
	error *report.Cube[float64]
}

// stepsOf are the cases of Figs. 16 and 17 as steps: laws of eq. 1, whose instances move 4 objects of 4 MB.
func stepsOf(jobs float64) []steps.StepConfig {
	data := steps.Transfer{Objects: 4 * several, MB: 4}
	single := steps.StepConfig{Tasks: int(jobs) * several, Law: steps.Law{A: 0.5, B: 0.02, Fixed: 0.2}, Download: data, Upload: data}
	multi := single
	multi.Multicore, multi.Law = true, steps.Law{A: 0.6, B: 0.2, C: 0.35, Fixed: 0.2}
	return []steps.StepConfig{single, single, multi}
}

func estimateSteps(ctx context.Context, o *suite.Options) (*estimated, error) {
	e := &estimated{fig7: make([][]float64, len(moves)), error: report.NewCube[float64](len(o.Seeds),
		report.Axis{Name: "way", Len: len(whole)}, byCase, byJobs, report.Axis{Name: "size", Len: len(steps.Lambda().Memory)})}
	var lab lab
	var movers []*steps.Model
	for i, t := range moves {
		m := lab.step(steps.StepConfig{Tasks: 20, Law: steps.Law{A: 1e-3}, Download: steps.Transfer{Objects: 20 * t.Objects, MB: t.MB}}, 0)
		option := lab.pack(m, 1024, 20, 1) // each instance has its share
		movers = append(movers, m)
		for _, seed := range o.Seeds {
			for run := range 40 {
				e.fig7[i] = append(e.fig7[i], lab.measure(m, option, 20, rng.New(seed, "stepconf/fig7").With(uint64(run))).Transfer)
			}
		}
		slices.Sort(e.fig7[i])
	}
	var all []experiment
	for j, jobs := range jobsOf {
		for c, config := range stepsOf(jobs) {
			x := experiment{m: lab.step(config, 0), movers: movers, jobs: jobs, q: int(fitted[c].q), number: uint64(j*len(fitted) + c)}
			if config.Multicore {
				x.q = 1
			}
			all = append(all, x)
		}
	}
	if lab.err != nil {
		return nil, lab.err
	}
	return e, o.Each(ctx, "whole steps", len(o.Seeds)*len(all), func(i int) error {
		s, n := i/len(all), i%len(all)
		found, err := all[n].run(o.Seeds[s])
		for k := range found {
			for size, x := range found[k] {
				e.error.At(k, n%len(fitted), n/len(fitted), size)[s] = x
			}
		}
		return err
	})
}

// experiment is Fig. 17's on one kind of step with one number of jobs.
type experiment struct {
	lab
	m      *steps.Model
	movers []*steps.Model
	jobs   float64
	q      int
	number uint64
}

// run returns the errors of a seed, by way and size of the platform.
func (x experiment) run(seed uint64) (out [][]float64, err error) {
	sizes := x.m.Platform.Memory
	for range whole {
		out = append(out, make([]float64, len(sizes)))
	}
	for again := range uint64(repeats) {
		key := rng.New(seed, "stepconf/whole").With(x.number).With(again)
		law, delay := x.fit(key.With(0)), x.delays(key.With(1))
		for k, mb := range sizes {
			seen := x.measured(mb, key.With(2))
			if x.err != nil {
				return nil, x.err
			}
			for w := range whole {
				predicted := law.Seconds(x.jobs, float64(mb), x.cores()) + delay[w]
				out[w][k] += math.Abs(predicted/seen[w]-1) / repeats
			}
		}
	}
	return out, nil
}

// cores is what eq. 1 takes as q.
func (x *experiment) cores() float64 {
	if x.m.Steps[0].Multicore {
		return 6
	}
	return float64(x.q)
}

// fit profiles the step with warm instances at the five sizes, for its number of jobs.
func (x *experiment) fit(key rng.Key) (law memory.Pieces) {
	var runs []memory.Job
	for _, mb := range profiled {
		r := x.measure(x.m, x.option(int(mb)), several, key)
		runs = append(runs, memory.Job{Jobs: x.jobs, MB: mb, Q: x.cores(), Seconds: r.Seconds - r.Mapping - r.Transfer})
	}
	if x.err == nil {
		law, x.err = memory.FitPieces(runs, x.m.Steps[0].Multicore, memory.Options{})
	}
	return law
}

func (x *experiment) option(mb int) int {
	return x.pack(x.m, mb, several, min(x.q, x.m.MostProcesses(0, mb, several)))
}

// delays fits quantiles of a transfer over objects and MB, and of the mapping over cold instances, to recent invocations
// of other steps. It returns the step's mapping, download and upload together, in seconds, for each way.
func (x *experiment) delays(key rng.Key) (out [2]float64) {
	var objects, cold [][]float64
	var moved, mapped []float64
	for i := range uint64(invocations) {
		k := key.With(i)
		at := k.With(0).IntN(len(moves))
		n := 1 + k.With(1).IntN(20)
		r := x.measure(x.movers[at], x.pack(x.movers[at], 1024, n, 1), 0, k.With(2))
		share := math.Ceil(20 * float64(moves[at].Objects) / float64(n))
		objects, moved = append(objects, []float64{share, moves[at].MB}), append(moved, r.Transfer)
		cold, mapped = append(cold, []float64{float64(r.Cold)}), append(mapped, r.Mapping)
	}
	for w, way := range whole {
		out[w] = 2*x.predicted(objects, moved, way.level, []float64{4, 4}) + x.predicted(cold, mapped, way.level, []float64{several})
	}
	return out
}

// predicted fits eq. 2 and asks it.
func (x *experiment) predicted(rows [][]float64, y []float64, level float64, row []float64) float64 {
	if x.err != nil {
		return 0
	}
	var m *quantile.Model
	var out []float64
	if m, x.err = quantile.Fit(rows, y, []float64{level}, quantile.Full()); x.err == nil {
		out, x.err = m.Predict(nil, row)
	}
	if x.err != nil {
		return 0
	}
	return out[0]
}

// measured are for each way what cold runs of the step took: the mean and the 90th percentile.
func (x *experiment) measured(mb int, key rng.Key) [2]float64 {
	option := x.option(mb)
	var all []float64
	mean := 0.0
	for run := range uint64(tailRuns) {
		t := x.measure(x.m, option, 0, key.With(run)).Seconds
		all, mean = append(all, t), mean+t/tailRuns
	}
	slices.Sort(all)
	return [2]float64{mean, all[int(0.9*tailRuns)]}
}

// tail is the slowest percent of a move over its fastest.
func (e *estimated) tail(move int) float64 {
	all := e.fig7[move]
	return all[min(len(all)-1, len(all)*99/100)] / all[len(all)/100]
}

func (e *estimated) report(r *suite.Report) {
	for _, i := range tails {
		t := moves[i]
		r.Row(suite.Row{Figure: "7", Quantity: fmt.Sprintf("%d × %g MB: P99 over P1 of the time", t.Objects, t.MB), Unit: "1",
			Ours: eval.Number(e.tail(i)), Note: "the paper: several times between the fastest and the slowest"})
	}
	for k, way := range whole {
		errorRows(r, "17, whole steps", way.name, "the paper: mostly", e.error.Select(k))
	}
	e.figure7(r)
	r.Table(errorTable(r, e.error.Select(0), report.Floats(steps.Lambda().Memory), report.Table{Name: "fig17-whole",
		Title: "Errors of predicted times of whole steps in percent (Fig. 17)",
		Note: fmt.Sprintf("%d cold instances; eq. 1 from one run at each of five sizes, medians of transfers and mapping from %d "+
			"invocations of other steps, beside the mean of %d runs; mean over %d repeats, and over seeds.", several, invocations,
			tailRuns, repeats)}))
}

func (e *estimated) figure7(r *suite.Report) {
	fig := report.NewFigure("fig7", "Distribution of the time in which an instance downloads its objects.",
		chart.Figure{Title: "Transfers", Columns: 1, Width: 12 * vg.Centimeter, Height: 7.5 * vg.Centimeter,
			Under: fmt.Sprintf("%d downloads of each kind", len(e.fig7[0]))}, "objects", "MB", "share", "time [s]")
	p := fig.Panel("", "time (s)", "share of the downloads")
	p.LogX()
	for i, t := range moves[:5] {
		var x, y []float64
		for k := range 101 {
			share := float64(k) / 100
			x, y = append(x, e.fig7[i][min(len(e.fig7[i])-1, k*len(e.fig7[i])/100)]), append(y, share)
			fig.Row(t.Objects, t.MB, share, x[k])
		}
		p.Line(chart.Styles(i), x, y, false)
		fig.Key(chart.Entry{Line: true}, fmt.Sprintf("%d × %g MB", t.Objects, t.MB))
	}
	p.RangeY(0, 1)
	r.Figure(*fig)
}
