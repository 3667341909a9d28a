package optiserve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot/vg"

	rules "github.com/stoker-rl/stoker/agents/baselines/variants"
	slapp "github.com/stoker-rl/stoker/agents/baselines/variants/published"
	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/profiles"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
)

// data is what was measured against published files.
type data struct {
	curves []slapp.Curve
	tables [2][2]int // App2, App3: rows, rows that differ
	golden map[string][2]int
	fit    *profiles.Result
	// errors in percent, ascending: of mean times and of prices, by the laws chosen and the published ones
	times, costs [2][]float64
	applications []*profiles.Checked
}

// published compares with the files in the folder of --data; without one it is nil.
func published(ctx context.Context, o *suite.Options) (*data, error) {
	if o.Data == "" {
		return nil, nil
	}
	d := &data{golden: map[string][2]int{}}
	folder := filepath.Join(o.Data, "slapp")
	parts := []func() error{
		func() error { return d.readCurves(ctx, folder) },
		func() error { return d.readGolden(filepath.Join(o.Data, "optiserve")) },
		func() error { return d.readProfiles(filepath.Join(folder, "function_profiles.csv")) },
		func() error { return d.readApplications(filepath.Join(folder, "apps")) },
	}
	err := o.Each(ctx, "published files", len(parts), func(i int) error { return parts[i]() })
	if errors.Is(err, fs.ErrNotExist) {
		return nil, suite.Usage("--data %s lacks a file of PRCP's or OptiServe's: %v", o.Data, err)
	}
	return d, err
}

// readProfiles fits laws to measured runs.
func (d *data) readProfiles(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if d.fit, err = profiles.Fit(bytes.NewReader(text), profiles.Default()); err != nil {
		return err
	}
	_, samples, err := memory.Read(bytes.NewReader(text))
	d.times[0], d.times[1] = d.relative()
	d.costs[0], d.costs[1] = costErrors(d.fit, samples)
	return err
}

func (d *data) readCurves(ctx context.Context, folder string) error {
	models, err := slapp.Models(folder)
	if err != nil {
		return err
	}
	if d.curves, err = slapp.Curves(ctx, folder, models); err != nil {
		return err
	}
	for i := range d.tables {
		if d.tables[i][0], d.tables[i][1], err = slapp.Table(folder, models[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// readGolden compares OptiServe's golden figures: by preset the number of searches and of those that differ.
func (d *data) readGolden(folder string) error {
	f, err := os.Open(filepath.Join(folder, "golden_figures.json"))
	if err != nil {
		return err
	}
	golden, err := slapp.ReadGolden(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	for preset, options := range map[string]rules.Options{"published": rules.Published(), "corrected": rules.Corrected()} {
		n, different, err := golden.Compare(preset, options)
		if err != nil {
			return err
		}
		d.golden[preset] = [2]int{n, different}
	}
	return nil
}

// readApplications predicts the applications that SLApp's authors ran on AWS, nothing fitted to the runs.
func (d *data) readApplications(folder string) error {
	for _, name := range []string{"App8", "App10", "App12"} {
		source := profiles.DefaultSource()
		m := &source.Machine
		m.Functions, m.Percent, m.Tariff = filepath.Join(folder, name+"_functions.csv"), true, "table"
		s, err := profiles.Open(filepath.Join(folder, name+".json"), source)
		if err != nil {
			return err
		}
		runs, err := profiles.OpenRequests(filepath.Join(folder, name+"_Duration_AWS.csv"),
			filepath.Join(folder, name+"_Cost_AWS.csv"))
		if err != nil {
			return err
		}
		c, err := profiles.Check(s, runs, profiles.DefaultCheck())
		if err != nil {
			return err
		}
		c.Name = name
		d.applications = append(d.applications, c)
	}
	return nil
}

// paperOfIdeal is the best of PRCP's four strategies over the ideal, in percent, for App1 to App4: what the published
// curves come to beside the exact optimum.
var paperOfIdeal = map[variants.Objective][]float64{variants.Time: {100, 99.98, 99.74, 99.15},
	variants.Cost: {100, 99.93, 99.73, 99.70}}

func (d *data) report(r *suite.Report) {
	if d == nil {
		r.Note("without --data: nothing is compared with published files (Figs. 3.1, 5.1, 5.3, 5.4 and PRCP's curves)")
		return
	}
	seen := map[variants.Objective]int{}
	for _, c := range d.curves {
		p := paperOfIdeal[c.Objective][seen[c.Objective]]
		seen[c.Objective]++
		r.Row(suite.Row{Figure: "PRCP", Quantity: fmt.Sprintf("%s, least %s: best of four beside the ideal", c.App, c.Objective),
			Unit: "%", Paper: &p, Ours: eval.Number(c.OfIdeal), Note: fmt.Sprintf("%d of %d published points differ", c.Different,
				c.Points)})
	}
	d.profileRows(r)
	d.applicationRows(r)
	r.Figure(*d.curvesFigure())
	r.Figure(*d.lawsFigure())
	r.Figure(*d.errorsFigure())
}

func (d *data) profileRows(r *suite.Report) {
	p := 10.0
	for _, x := range []struct {
		name string
		e    profiles.Errors
		note string
	}{
		{"exponential law (eq. 3.1), least squares", d.fit.Published, "plain least squares over all 46 sizes"},
		{"law chosen at sizes left out", d.fit.Error, ""},
	} {
		r.Row(suite.Row{Figure: "5.1", Quantity: "80th percentile of the relative error of mean times: " + x.name, Unit: "%",
			Paper: &p, Ours: 100 * x.e.P80, Note: x.note})
	}
}

// applicationRows has Figs. 5.3 and 5.4 by both formulas: the thesis' applications were not published, PRCP's were.
func (d *data) applicationRows(r *suite.Report) {
	time, cost := 99.1, 99.89
	var ours, usd, published, publishedUSD, divided float64
	n := float64(len(d.applications))
	for _, c := range d.applications {
		for _, row := range c.Rows {
			switch row.Quantity {
			case "mean":
				ours += 100 * (1 - math.Abs(row.Error)) / n
			case "cost":
				usd += 100 * (1 - math.Abs(row.Error)) / n
				divided += (100 - 100*math.Abs(c.Published.USD-row.Measured)/(1000*c.Published.Seconds)) / n
			}
		}
		published += 100 * (1 - math.Abs(float64(c.Published.SecondsError))) / n
		publishedUSD += 100 * (1 - math.Abs(float64(c.Published.USDError))) / n
	}
	note := "mean of PRCP's App8, App10, App12, 3,000 requests each; the thesis' own runs were not published"
	for _, x := range []struct {
		figure, quantity string
		paper            *float64
		ours             float64
	}{
		{"5.3", "accuracy of the mean response time, ours", &time, ours},
		{"5.3", "accuracy of the mean response time, published model", &time, published},
		{"5.4", "accuracy of the cost, ours", &cost, usd},
		{"5.4", "accuracy of the cost, published model", &cost, publishedUSD},
		{"5.4", "the same by the published formula, which divides USD by milliseconds of the response time", &cost, divided},
	} {
		r.Row(suite.Row{Figure: x.figure, Quantity: x.quantity, Unit: "%", Paper: x.paper, Ours: eval.Number(x.ours), Note: note})
	}
}

// sorted relative errors of all functions and sizes in percent, of the chosen laws and of the published one.
func (d *data) relative() (chosen, published []float64) {
	for _, f := range d.fit.Functions {
		for _, s := range f.Sizes {
			chosen = append(chosen, 100*math.Abs(s.Error))
			published = append(published, 100*math.Abs(s.Published/s.Mean-1))
		}
	}
	slices.Sort(chosen)
	slices.Sort(published)
	return chosen, published
}

// costErrors returns the relative errors in percent, ascending, of predicted prices of runs against the mean of what the
// measured runs are billed (eq. 3.2: rounded up to 100 ms), for all functions and sizes: by the laws chosen, as the
// expectation of the rounded time of lognormal runs, and by the published model, as the rounded mean of the exponential law.
func costErrors(fit *profiles.Result, samples map[string][]memory.Sample) (chosen, published []float64) {
	tariff := bill.Lambda100()
	for _, f := range fit.Functions {
		billed, runs := map[float64]float64{}, map[float64]float64{}
		for _, s := range samples[f.Name] {
			billed[s.MB] += tariff.Run(s.MB, s.Seconds)
			runs[s.MB]++
		}
		var cv float64 // a function has one
		for _, s := range f.Sizes {
			cv += s.SD / s.Mean / float64(len(f.Sizes))
		}
		for _, s := range f.Sizes {
			measured := billed[s.MB] / runs[s.MB]
			off := func(usd float64) float64 { return 100 * math.Abs(usd/measured-1) }
			chosen = append(chosen, off(tariff.Expected(s.MB, bill.Lognormal{M: s.Predicted, CV: cv})))
			published = append(published, off(tariff.OfMean(s.MB, s.Published)))
		}
	}
	slices.Sort(chosen)
	slices.Sort(published)
	return chosen, published
}

// curvesFigure draws PRCP's curves: each strategy beside the ideal.
func (d *data) curvesFigure() *report.Figure {
	fig := report.NewFigure("prcp",
		"PRCP's curves: the exact optimum over each strategy's answer, under 100 constraints. The data has the values.",
		chart.Figure{Title: "PRCP beside the exact optimum", Columns: 4, Width: 6 * vg.Centimeter, Height: 5 * vg.Centimeter,
			Under: "App1 to App4 on measured profiles, 100 constraints each"},
		"application", "objective", "constraint", "disabled", "rt/m", "ert/c", "max", "ideal")
	for _, s := range rules.Strategies()[:4] {
		fig.Key(chart.Entry{Line: true}, string(s))
	}
	for _, objective := range []variants.Objective{variants.Time, variants.Cost} {
		for _, k := range d.curves {
			if k.Objective != objective {
				continue
			}
			x := "budget (USD per million)"
			if objective == variants.Cost {
				x = "time at most (s)"
			}
			p := fig.Panel(fmt.Sprintf("%s, least %s", k.App, objective), x, "ideal / answer (%)")
			at := make([]float64, len(k.Rows))
			var share [4][]float64
			for j, row := range k.Rows {
				at[j] = row.Constraint
				for s, v := range row.Value {
					share[s] = append(share[s], 100*row.Ideal/v)
				}
				fig.Row(k.App, string(objective), row.Constraint, row.Value[0], row.Value[1], row.Value[2], row.Value[3], row.Ideal)
			}
			for s := range slices.Backward(share[:]) { // the first strategy lies on top
				p.Line(chart.Styles(s), at, share[s], false)
			}
			p.RangeY(0, 103)
		}
	}
	return fig
}

// lawsFigure is Fig. 3.1: measured times and laws.
func (d *data) lawsFigure() *report.Figure {
	fig := report.NewFigure("fig31", "Measured mean times of six functions over memory, the law that errs least at "+
		"sizes left out, and the published exponential law.",
		chart.Figure{Title: "Execution time over memory", Columns: 3, Width: 6.4 * vg.Centimeter, Height: 5 * vg.Centimeter,
			Under: "dots: mean of 100 runs and one standard deviation of a run",
			Key: []chart.Entry{{Text: "measured", Style: chart.Common(), Dot: true}, {Text: "chosen law", Style: chart.Styles(0), Line: true},
				{Text: "exponential, plain least squares", Style: chart.Styles(1), Line: true}}},
		"function", "memory [MB]", "mean [s]", "sd [s]", "chosen law [s]", "exponential [s]")
	for _, f := range d.fit.Functions {
		p := fig.Panel(fmt.Sprintf("%s: %s, error %.1f %% (exponential %.1f %%)", f.Name, f.Laws[0].Form, 100*f.Laws[0].MAPE,
			100*f.Published.MAPE), "memory (MB)", "time (s)")
		p.LogX()
		p.LogY()
		var x, law, other []float64
		for _, s := range f.Sizes {
			x, law, other = append(x, s.MB), append(law, s.Predicted), append(other, s.Published)
			p.Cross(chart.Common(), chart.Exactly(s.MB), chart.Range{At: s.Mean, Low: max(s.Mean/2, s.Mean-s.SD), High: s.Mean + s.SD})
			fig.Row(f.Name, s.MB, s.Mean, s.SD, s.Predicted, s.Published)
		}
		p.Line(chart.Styles(1), x, other, false)
		p.Line(chart.Styles(0), x, law, false)
	}
	return fig
}

// errorsFigure is Fig. 5.1: the distribution of the relative errors of times and costs.
func (d *data) errorsFigure() *report.Figure {
	fig := report.NewFigure("fig51", "Distribution of the relative errors of mean times and of prices of runs over six "+
		"functions and 46 sizes.",
		chart.Figure{Title: "Errors of the laws", Columns: 2, Width: 7.5 * vg.Centimeter, Height: 6.5 * vg.Centimeter,
			Under: "lines: the thesis' 80th percentile of about 10 %"}, "quantity", "law", "error [%]", "share")
	laws := [2]string{"law chosen at sizes left out", "exponential, plain least squares"}
	fig.Key(chart.Entry{Line: true}, laws[:]...)
	for _, q := range []struct {
		name string
		of   *[2][]float64
	}{{"mean time", &d.times}, {"price of a run", &d.costs}} {
		p := fig.Panel("", "relative error of the "+q.name+" (%)", "share of sizes and functions")
		for i, law := range laws {
			x, y := []float64{0}, []float64{0}
			for j, v := range q.of[i] {
				x, y = append(x, v), append(y, float64(j+1)/float64(len(q.of[i])))
				fig.Row(q.name, law, v, y[j+1])
			}
			p.Line(chart.Styles(i), x, y, true)
		}
		p.RangeY(0, 1)
		p.LevelX(10)
		p.LevelY(0.8)
	}
	return fig
}
