package stepconf

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/rng"
)

// fitted are the cases of Figs. 16a to 16c.
var fitted = []struct {
	name    string
	program program
	q       float64
}{
	{"16a: code of one core, one process", single, 1},
	{"16b: code of one core, six processes", single, 6},
	{"16c: code of several cores", multicore, 6},
}

// readings are ways to fit eq. 1.
var readings = []struct {
	name string
	doc  string
}{
	{"for each number of jobs", "eq. 1 fitted for each number of jobs by itself"},
	{"over all jobs", "eq. 1 as printed, one fit over all numbers of jobs"},
	{"inverse alone", "case 2 of eq. 1 in place of case 1 too, for each number of jobs"},
}

// jobsOf are the numbers of jobs of an instance in Figs. 16 and 17.
var jobsOf = []float64{8, 16, 24, 32, 48, 64}

// The axes of errors.
var (
	byCase = report.Axis{Name: "case", Len: len(fitted)}
	byJobs = report.Axis{Name: "jobs", Len: len(jobsOf)}
)

// repeats is how often the paper repeats the experiment.
const repeats = 10

// fits has the error of predicted compute times, |predicted/measured − 1|, mean over the repeats.
type fits struct {
	// error by reading, case, number of jobs and size.
	error *report.Cube[float64]
	// shown are a fit of each case over the sizes, for Fig. 16: measured and predicted seconds of a number of jobs.
	shown [][][2][]float64 // by case and number of jobs
}

func fitLaws(ctx context.Context, o *suite.Options) (*fits, error) {
	f := &fits{shown: make([][][2][]float64, len(fitted)),
		error: report.NewCube[float64](len(o.Seeds), report.Axis{Name: "reading", Len: len(readings)}, byCase, byJobs, bySize)}
	err := o.Each(ctx, "fits", len(o.Seeds)*len(fitted), func(i int) error {
		s, c := i/len(fitted), i%len(fitted)
		for again := range uint64(repeats) {
			if err := f.once(s, c, rng.New(o.Seeds[s], "stepconf/fits").With(uint64(c)).With(again)); err != nil {
				return err
			}
		}
		return nil
	})
	return f, err
}

// once profiles a program, fits it by each reading and adds up the errors. The first seed's are also shown.
func (f *fits) once(s, c int, key rng.Key) error {
	p, q := fitted[c].program, fitted[c].q
	all, err := p.fit(jobsOf, q, 1, key.With(0))
	if err != nil {
		return err
	}
	for j, jobs := range jobsOf {
		alone, err := p.fit([]float64{jobs}, q, 1, key.With(0))
		if err != nil {
			return err
		}
		other, err := memory.FitPieces(p.profile([]float64{jobs}, q, 1, key.With(0)), false, memory.Options{})
		if err != nil {
			return err
		}
		var shown [2][]float64
		for m, mb := range sizes {
			measured := p.measured(jobs, mb, q, lawRuns, key.With(1))
			for k, law := range []memory.Pieces{alone, all, other} {
				f.error.At(k, c, j, m)[s] += math.Abs(law.Seconds(jobs, mb, q)/measured-1) / repeats
			}
			shown[0], shown[1] = append(shown[0], measured), append(shown[1], alone.Seconds(jobs, mb, q))
		}
		if s == 0 && len(f.shown[c]) < len(jobsOf) {
			f.shown[c] = append(f.shown[c], shown)
		}
	}
	return nil
}

// below is the share in percent of relative errors below mostError, most the largest error, both in percent; by seed.
func below(errors *report.Cube[float64]) (share, most []float64) {
	for s := range errors.Seeds() {
		cells := errors.Seed(s)
		n, worst := 0, 0.0
		for _, e := range cells {
			x := 100 * e
			if x < mostError {
				n++
			}
			worst = max(worst, x)
		}
		share, most = append(share, 100*float64(n)/float64(len(cells))), append(most, worst)
	}
	return share, most
}

// What the paper says of Fig. 17: errors mostly within 4 %, all below 8 %.
const mostError, allError = 4.0, 8.0

func (f *fits) report(r *suite.Report) {
	for k, reading := range readings {
		errorRows(r, "17, compute", reading.name, reading.doc+"; the paper: mostly", f.error.Select(k))
	}
	f.fig16(r)
	r.Table(errorTable(r, f.error.Select(0), sizes, report.Table{Name: "fig17-compute",
		Title: "Errors of predicted compute times in percent (Fig. 17)",
		Note:  "Eq. 1 fitted for each number of jobs at five sizes; mean over 10 repeats, and over seeds."}))
}

// errorRows are the share of small errors and the largest one of a way to predict.
func errorRows(r *suite.Report, figure, way, note string, errors *report.Cube[float64]) {
	all, worst := 100.0, allError
	share, most := below(errors)
	measured(r, suite.Row{Figure: figure, Quantity: "cells with an error below 4 %, " + way, Unit: "%", Paper: &all, Note: note}, share)
	measured(r, suite.Row{Figure: figure, Quantity: "largest error of a cell, " + way, Unit: "%", Paper: &worst,
		Note: "the paper: below 8 %"}, most)
}

// fig16 draws a profile with its fit for each case.
func (f *fits) fig16(r *suite.Report) {
	fig := report.NewFigure("fig16", "Eq. 1 fitted at five sizes, for each number of jobs, beside times measured at all "+
		"sizes (first seed, first repeat).",
		chart.Figure{Title: "Piece-wise fits of the compute time", Columns: 3, Width: 7 * vg.Centimeter, Height: 6 * vg.Centimeter,
			Under: "dots: measured, means of 10 runs; lines: eq. 1 from one run at each of 512, 1,024, 2,048, 4,096 and 10,240 MB"},
		"case", "jobs", "memory [MB]", "measured [s]", "predicted [s]")
	for k, byJobs := range f.shown {
		p := fig.Panel(fitted[k].name, "memory (MB)", "compute time (s)")
		p.LogY()
		for i, j := range []int{0, 3, 5} {
			jobs := jobsOf[j]
			measured, predicted := byJobs[j][0], byJobs[j][1]
			for m, mb := range sizes {
				p.Cross(chart.Styles(i), chart.Exactly(mb), chart.Exactly(measured[m]))
				fig.Row(fitted[k].name, jobs, mb, measured[m], predicted[m])
			}
			p.Line(chart.Styles(i), sizes, predicted, false)
			if k == 0 {
				fig.Key(chart.Entry{Line: true, Dot: true}, fmt.Sprintf("%g jobs", jobs))
			}
		}
	}
	r.Figure(*fig)
}

// errorTable is Fig. 17's colours as numbers: the error of each cell in percent, a column for each size.
func errorTable(r *suite.Report, errors *report.Cube[float64], sizes []float64, t report.Table) report.Table {
	columns := lists.From(sizes, func(mb float64) string { return fmt.Sprintf("%g MB", mb) })
	t.Columns = report.Head(append([]string{"case", "jobs"}, columns...)...)
	for c := range fitted {
		for j, jobs := range jobsOf {
			row := []any{fitted[c].name, jobs}
			for m := range sizes {
				row = append(row, 100*estimate(r, errors.At(c, j, m)).At)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// measuredAt are the five sizes at which the functions of --data are profiled: those measured range from 128 to 3,008 MB.
var measuredAt = []float64{128, 512, 1024, 2048, 3008}

// bought is how many runs a profile has at each of its sizes.
const bought = 10

// data are six functions that were measured on AWS Lambda, 100 runs at each of 46 sizes: eq. 1, fitted at five of them, is
// held against all.
type data struct {
	names []string
	error []*report.Cube[float64] // of each function, by size
}

func measuredFunctions(ctx context.Context, o *suite.Options) (*data, error) {
	if o.Data == "" {
		return nil, nil
	}
	file, err := os.Open(filepath.Join(o.Data, "slapp", "function_profiles.csv"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, suite.Usage("--data %s lacks a file of SLApp's: %v", o.Data, err)
	} else if err != nil {
		return nil, err
	}
	names, samples, err := memory.Read(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	d := &data{names: names, error: make([]*report.Cube[float64], len(names))}
	return d, o.Each(ctx, "measured functions", len(names), func(i int) (err error) {
		d.error[i], err = errorsOf(samples[names[i]], o.Seeds, uint64(i))
		return err
	})
}

// errorsOf has the relative errors of a function by size: a seed draws which runs the profile has.
func errorsOf(samples []memory.Sample, seeds []uint64, function uint64) (*report.Cube[float64], error) {
	all, err := memory.Sizes(samples)
	if err != nil {
		return nil, err
	}
	runs := map[float64][]float64{}
	for _, s := range samples {
		runs[s.MB] = append(runs[s.MB], s.Seconds)
	}
	out := report.NewCube[float64](len(seeds), report.Axis{Name: "size", Len: len(all)})
	for s, seed := range seeds {
		draws := rng.New(seed, "stepconf/data").With(function).Stream()
		var profile []memory.Job
		for _, mb := range measuredAt {
			n := len(runs[mb])
			if n == 0 {
				return nil, suite.Usage("--data: function %d has no runs with %g MB", function, mb)
			}
			sum := 0.0
			for range bought {
				sum += runs[mb][draws.IntN(n)]
			}
			profile = append(profile, memory.Job{Jobs: 1, MB: mb, Q: 1, Seconds: sum / bought})
		}
		law, err := memory.FitPieces(profile, false, memory.Options{})
		if err != nil {
			return nil, err
		}
		for m, size := range all {
			out.At(m)[s] = math.Abs(law.Seconds(1, size.MB, 1)/size.Mean - 1)
		}
	}
	return out, nil
}

func (d *data) report(r *suite.Report) {
	if d == nil {
		r.Note("without --data: eq. 1 is not held against functions that were measured on AWS")
		return
	}
	t := report.Table{Name: "fig17-measured", Title: "Errors of eq. 1 on functions measured on AWS Lambda",
		Note: "SLApp's six functions, 46 sizes from 128 to 3,008 MB with 100 runs each: fitted to 10 runs at each of 128, 512, 1,024, " +
			"2,048 and 3,008 MB, which a seed draws; held against the means of all runs at every size.",
		Columns: report.Head("function", "sizes below 4 % [%]", "largest error [%]")}
	for f, name := range d.names {
		share, most := below(d.error[f])
		t.Rows = append(t.Rows, []any{name, estimate(r, share), estimate(r, most)})
	}
	r.Table(t)
}
