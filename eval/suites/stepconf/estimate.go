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
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
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

// whole are ways to predict the time of a whole step from its parts.
var whole = []struct {
	name  string
	level float64
}{{"sum of medians, beside the mean", 0.5}, {"sum of P90s, beside the P90", 0.9}}

// estimated is how well the times of whole steps are predicted, and Fig. 7.
type estimated struct {
	fig7 [][]float64 // seconds of each move, sorted
	// error by way, case, number of jobs, size and seed: |predicted/measured − 1|, mean over the repeats.
	error [][][][][]float64
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
	e := &estimated{fig7: make([][]float64, len(moves))}
	var movers []*steps.Model
	for _, t := range moves {
		m, err := lab(steps.StepConfig{Tasks: 20, Law: steps.Law{A: 1e-3}, Download: steps.Transfer{Objects: 20 * t.Objects, MB: t.MB}}, 0)
		if err != nil {
			return nil, err
		}
		movers = append(movers, m)
	}
	var p steps.Player
	for i, m := range movers {
		option, err := m.Pack(0, 1024, 20, 1) // each instance has its share
		if err != nil {
			return nil, err
		}
		for _, seed := range o.Seeds {
			for run := range 40 {
				e.fig7[i] = append(e.fig7[i], p.Measure(m, 0, option, 20, rng.New(seed, "stepconf/fig7").With(uint64(run))).Transfer)
			}
		}
		slices.Sort(e.fig7[i])
	}
	for range whole {
		var byCase [][][][]float64
		for range fitted {
			byCase = append(byCase, make([][][]float64, len(jobsOf)))
		}
		e.error = append(e.error, byCase)
	}
	return e, o.Each(ctx, "whole steps", len(jobsOf), func(j int) error {
		for c, config := range stepsOf(jobsOf[j]) {
			m, err := lab(config, 0)
			if err != nil {
				return err
			}
			x := &experiment{m: m, movers: movers, jobs: jobsOf[j], q: int(fitted[c].q)}
			if config.Multicore {
				x.q = 1
			}
			errors, err := x.run(o.Seeds, uint64(j*len(fitted)+c))
			if err != nil {
				return err
			}
			for k := range whole {
				e.error[k][c][j] = errors[k]
			}
		}
		return nil
	})
}

// experiment is Fig. 17's on one kind of step with one number of jobs.
type experiment struct {
	m      *steps.Model
	movers []*steps.Model
	jobs   float64
	q      int
	player steps.Player
}

// run returns the errors by way, size of the platform and seed.
func (x *experiment) run(seeds []uint64, number uint64) (out [][][]float64, err error) {
	sizes := x.m.Platform.Memory
	for range whole {
		out = append(out, values(len(sizes), len(seeds)))
	}
	for s, seed := range seeds {
		for again := range uint64(repeats) {
			key := rng.New(seed, "stepconf/whole").With(number).With(again)
			law, err := x.fit(key.With(0))
			if err != nil {
				return nil, err
			}
			transfer, mapping, err := x.delays(key.With(1))
			if err != nil {
				return nil, err
			}
			for k, mb := range sizes {
				mean, tail, err := x.measured(mb, key.With(2))
				if err != nil {
					return nil, err
				}
				compute := law.Seconds(x.jobs, float64(mb), x.cores())
				for w, way := range whole {
					moved, err := transfer[w].Predict(nil, []float64{4, 4})
					if err != nil {
						return nil, err
					}
					mapped, err := mapping[w].Predict(nil, []float64{several})
					if err != nil {
						return nil, err
					}
					seen := mean
					if way.level > 0.5 {
						seen = tail
					}
					out[w][k][s] += math.Abs((compute+2*moved[0]+mapped[0])/seen-1) / repeats
				}
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

// fit profiles the step with one warm instance's share at the five sizes, for its number of jobs.
func (x *experiment) fit(key rng.Key) (memory.Pieces, error) {
	var runs []memory.Job
	for _, mb := range profiled {
		option, err := x.option(int(mb))
		if err != nil {
			return memory.Pieces{}, err
		}
		r := x.player.Measure(x.m, 0, option, several, key)
		runs = append(runs, memory.Job{Jobs: x.jobs, MB: mb, Q: x.cores(), Seconds: r.Seconds - r.Mapping - r.Transfer})
	}
	return memory.FitPieces(runs, x.m.Steps[0].Multicore, memory.Options{})
}

func (x *experiment) option(mb int) (int, error) {
	return x.m.Pack(0, mb, several, min(x.q, x.m.MostProcesses(0, mb, several)))
}

// delays fits quantiles of a transfer over objects and MB, and of the mapping over cold instances, to recent invocations
// of other steps; a model for each way.
func (x *experiment) delays(key rng.Key) (transfer, mapping []*quantile.Model, err error) {
	var objects, cold [][]float64
	var moved, mapped []float64
	for i := range uint64(invocations) {
		k := key.With(i)
		at := k.With(0).IntN(len(moves))
		n := 1 + k.With(1).IntN(20)
		option, err := x.movers[at].Pack(0, 1024, n, 1)
		if err != nil {
			return nil, nil, err
		}
		r := x.player.Measure(x.movers[at], 0, option, 0, k.With(2))
		share := math.Ceil(20 * float64(moves[at].Objects) / float64(n))
		objects, moved = append(objects, []float64{share, moves[at].MB}), append(moved, r.Transfer)
		cold, mapped = append(cold, []float64{float64(r.Cold)}), append(mapped, r.Mapping)
	}
	for _, way := range whole {
		t, err := quantile.Fit(objects, moved, []float64{way.level}, quantile.Full())
		if err != nil {
			return nil, nil, err
		}
		m, err := quantile.Fit(cold, mapped, []float64{way.level}, quantile.Full())
		if err != nil {
			return nil, nil, err
		}
		transfer, mapping = append(transfer, t), append(mapping, m)
	}
	return transfer, mapping, nil
}

// measured are the mean of some cold runs of the step and the 90th percentile of more.
func (x *experiment) measured(mb int, key rng.Key) (mean, tail float64, err error) {
	option, err := x.option(mb)
	if err != nil {
		return 0, 0, err
	}
	var all []float64
	for run := range uint64(tailRuns) {
		all = append(all, x.player.Measure(x.m, 0, option, 0, key.With(run)).Seconds)
	}
	for _, t := range all {
		mean += t / tailRuns
	}
	slices.Sort(all)
	return mean, all[int(0.9*tailRuns)], nil
}

// below is the share in percent of cells with an error below a bound, and the largest; by seed.
func (e *estimated) below(way int, bound float64) (share, most []float64) {
	for s := range e.error[way][0][0][0] {
		n, all, worst := 0, 0, 0.0
		for _, byCase := range e.error[way] {
			for _, byJobs := range byCase {
				for _, bySize := range byJobs {
					x := 100 * bySize[s]
					all++
					if x < bound {
						n++
					}
					worst = max(worst, x)
				}
			}
		}
		share, most = append(share, 100*float64(n)/float64(all)), append(most, worst)
	}
	return share, most
}

// tail is the slowest percent of a move over its fastest.
func (e *estimated) tail(move int) float64 {
	all := e.fig7[move]
	return all[min(len(all)-1, len(all)*99/100)] / all[len(all)/100]
}

func (e *estimated) report(r *suite.Report) {
	for i, t := range moves[:5] {
		r.Row(suite.Row{Figure: "7", Quantity: fmt.Sprintf("%d objects of %g MB: P99 over P1 of the time", t.Objects, t.MB), Unit: "1",
			Ours: number(e.tail(i)), Note: "the paper: several times between the fastest and the slowest"})
	}
	all, worst := 100.0, allError
	for k, way := range whole {
		share, most := e.below(k, mostError)
		r.Measured(suite.Row{Figure: "17, whole steps", Quantity: "cells with an error below 4 %, " + way.name, Unit: "%", Paper: &all,
			Note: "the paper: mostly"}, [][]float64{share})
		r.Measured(suite.Row{Figure: "17, whole steps", Quantity: "largest error of a cell, " + way.name, Unit: "%", Paper: &worst,
			Note: "the paper: below 8 %"}, [][]float64{most})
	}
	r.Figure(e.figure7())
	r.Table(e.table(r))
}

func (e *estimated) figure7() suite.Figure {
	fig := suite.Figure{Name: "fig7", Caption: "Distribution of the time in which an instance downloads its objects.",
		Columns: table.Head("objects", "MB", "share", "time [s]")}
	p := chart.NewPanel("", "time (s)", "share of the downloads")
	p.LogX()
	c := &chart.Figure{Title: "Transfers", Panels: []*chart.Panel{p}, Columns: 1, Width: 12 * vg.Centimeter, Height: 7.5 * vg.Centimeter,
		Under: fmt.Sprintf("%d downloads of each kind", len(e.fig7[0]))}
	for i, t := range moves[:5] {
		var x, y []float64
		for k := range 101 {
			share := float64(k) / 100
			x, y = append(x, e.fig7[i][min(len(e.fig7[i])-1, k*len(e.fig7[i])/100)]), append(y, share)
			fig.Rows = append(fig.Rows, []any{t.Objects, t.MB, share, x[k]})
		}
		p.Line(chart.Styles(i), x, y, false)
		c.Key = append(c.Key, chart.Entry{Text: fmt.Sprintf("%d × %g MB", t.Objects, t.MB), Style: chart.Styles(i), Line: true})
	}
	p.RangeY(0, 1)
	fig.Chart = c
	return fig
}

// table is Fig. 17's colours as numbers, for the mean.
func (e *estimated) table(r *suite.Report) table.Table {
	head := []string{"case", "jobs"}
	for _, mb := range steps.Lambda().Memory {
		head = append(head, fmt.Sprintf("%d MB", mb))
	}
	t := table.Table{Name: "fig17-whole", Title: "Errors of predicted times of whole steps in percent (Fig. 17)",
		Note: fmt.Sprintf("%d cold instances; eq. 1 from one run at each of five sizes, medians of transfers and mapping from %d "+
			"invocations of other steps, beside the mean of %d runs; mean over %d repeats, and over seeds.", several, invocations,
			tailRuns, repeats),
		Columns: table.Head(head...)}
	for c, byJobs := range e.error[0] {
		for j, bySize := range byJobs {
			row := []any{fitted[c].name, jobsOf[j]}
			for _, bySeed := range bySize {
				row = append(row, 100*r.Estimate([][]float64{bySeed}).At)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// number is a row's value without an interval.
func number(x float64) eval.Number { return eval.Number(x) }
