package profiles

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
)

// Text is the result for a terminal.
func Text(r *Result) string {
	rows := [][]string{{"function", "runs", "sizes", "law", "MAPE", "left out", "exponential, plain", ""}}
	for _, f := range r.Functions {
		for i, l := range f.Laws {
			row := []string{"", "", "", string(l.Form), percent(l.MAPE), percent(l.LeftOut), "", ""}
			if i == 0 {
				name := f.Name
				if name == "" {
					name = "(all rows)"
				}
				row[0], row[1], row[2] = name, fmt.Sprint(f.Runs), fmt.Sprint(len(f.Sizes))
				if f.Used < len(f.Sizes) {
					row[2] = fmt.Sprintf("%d of %d", f.Used, len(f.Sizes))
				}
				row[6], row[7] = percent(f.Published.MAPE), "chosen: "+l.Text
			}
			rows = append(rows, row)
		}
	}
	var b strings.Builder
	b.WriteString(table.Columns(rows, true))
	fmt.Fprintf(&b, "\nRelative error of the mean time, each size of each function once: mean %s, 80th percentile %s, most %s;\n"+
		"the exponential law by plain least squares (OptiServe, eq. 3.1): %s, %s, %s.\n", percent(r.Error.MAPE),
		percent(r.Error.P80), percent(r.Error.Max), percent(r.Published.MAPE), percent(r.Published.P80),
		percent(r.Published.Max))
	for _, f := range r.Functions {
		if len(f.Rises) > 0 {
			fmt.Fprintf(&b, "%s: slower than with the size before, by more than chance, at %s MB: measure these again.\n", f.Name,
				list(f.Rises))
		}
	}
	return b.String()
}

func list(x []float64) string {
	text := make([]string, len(x))
	for i, v := range x {
		text[i] = table.Plain(v)
	}
	return strings.Join(text, ", ")
}

func percent(x eval.Number) string {
	if math.IsNaN(float64(x)) {
		return "too few"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(x))
}

// Write leaves profile.json, the sizes with their predictions and the laws as CSV, and the figures. It returns the names
// of the files.
func Write(dir string, r *Result) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	sizes := [][]string{{"function", "memory_mb", "runs", "mean_s", "median_s", "sd_s", "predicted_s", "error",
		"exponential_plain_s"}}
	laws := [][]string{{"function", "law", "text", "mape", "left_out"}}
	for _, f := range r.Functions {
		for _, s := range f.Sizes {
			row := []string{f.Name}
			for _, v := range []float64{s.MB, float64(s.Runs), s.Mean, s.Median, s.SD, s.Predicted, s.Error, s.Published} {
				row = append(row, table.Exact(v))
			}
			sizes = append(sizes, row)
		}
		for _, l := range f.Laws {
			laws = append(laws, []string{f.Name, string(l.Form), l.Text, exact(l.MAPE), exact(l.LeftOut)})
		}
	}
	files := []string{"profile.json", "profile_sizes.csv", "profile_laws.csv"}
	if err := table.WriteFile(dir, files[1], sizes); err != nil {
		return nil, err
	}
	if err := table.WriteFile(dir, files[2], laws); err != nil {
		return nil, err
	}
	b, err := table.JSON(r)
	if err != nil {
		return nil, err
	}
	if err := durable.WriteFile(durable.OS{}, filepath.Join(dir, files[0]), b); err != nil {
		return nil, err
	}
	for name, f := range map[string]*chart.Figure{"profile": r.laws(), "profile_errors": r.errors()} {
		drawn, err := f.Save(dir, name)
		if err != nil {
			return nil, err
		}
		files = append(files, drawn...)
	}
	return files, nil
}

func exact(x eval.Number) string {
	if math.IsNaN(float64(x)) {
		return ""
	}
	return table.Exact(float64(x))
}

// laws draws each function's means with one standard deviation of a run, the chosen law and the published one.
func (r *Result) laws() *chart.Figure {
	measured, chosen, published := chart.Common(), chart.Styles(0), chart.Styles(1)
	f := &chart.Figure{Title: "Execution time over memory", Columns: min(3, len(r.Functions)), Width: 6.4 * vg.Centimeter,
		Height: 5 * vg.Centimeter, Under: "dots: mean of the runs and one standard deviation of a run",
		Key: []chart.Entry{{Text: "measured", Style: measured, Dot: true}, {Text: "chosen law", Style: chosen, Line: true},
			{Text: "exponential, plain least squares", Style: published, Line: true}}}
	for _, fn := range r.Functions {
		p := chart.NewPanel(strings.TrimSpace(fn.Name+": "+string(fn.Laws[0].Form)), "memory (MB)", "time (s)")
		p.LogX()
		p.LogY()
		var x, law, other []float64
		low, high := fn.Sizes[0].MB, fn.Sizes[len(fn.Sizes)-1].MB
		for i := range 121 {
			mb := low * math.Pow(high/low, float64(i)/120)
			x, law, other = append(x, mb), append(law, fn.law.Seconds(mb)), append(other, fn.published.Seconds(mb))
		}
		for _, s := range fn.Sizes {
			p.Cross(measured, chart.Exactly(s.MB), chart.Range{At: s.Mean, Low: max(s.Mean/2, s.Mean-s.SD), High: s.Mean + s.SD})
		}
		p.Line(published, x, other, false)
		p.Line(chosen, x, law, false)
		f.Panels = append(f.Panels, p)
	}
	return f
}

// errors draws the distribution of the relative errors, as OptiServe's Fig. 5.1 does.
func (r *Result) errors() *chart.Figure {
	p := chart.NewPanel("", "relative error of the mean time (%)", "share of sizes and functions")
	f := &chart.Figure{Title: "Errors of the laws", Panels: []*chart.Panel{p}, Columns: 1, Width: 9 * vg.Centimeter,
		Height: 6.5 * vg.Centimeter, Under: "each memory size of each function once; line: 80th percentile of the chosen laws"}
	for i, e := range []struct {
		name string
		of   Errors
	}{{"chosen laws", r.Error}, {"exponential, plain least squares", r.Published}} {
		style := chart.Styles(i)
		x, y := []float64{0}, []float64{0}
		for j, v := range e.of.all {
			x, y = append(x, 100*v), append(y, float64(j+1)/float64(len(e.of.all)))
		}
		p.Line(style, x, y, false)
		f.Key = append(f.Key, chart.Entry{Text: e.name, Style: style, Line: true})
	}
	p.RangeY(0, 1)
	p.LevelX(100 * float64(r.Error.P80))
	return f
}
