package whatif

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
)

// Text is the result for a terminal.
func Text(r *Result) string {
	var b strings.Builder
	if r.About != "" {
		fmt.Fprintf(&b, "%s: %s\n\n", r.App, r.About)
	}
	if r.Problem == nil {
		r.ends(&b)
		return b.String()
	}
	p := &r.Plans[0]
	fmt.Fprintf(&b, "%s: %s\n\n", r.App, p.Name)
	rows := [][]string{{"function", "variant", "accuracy", "MB", "mean time", "runs", "USD a million"}}
	for _, f := range p.Functions {
		accuracy, variant := "", f.Variant
		if f.Accuracy > 0 {
			accuracy = report.Plain(f.Accuracy)
		}
		if variant == f.Function {
			variant = ""
		}
		mb := ""
		if f.MB > 0 {
			mb = report.Plain(f.MB)
		}
		rows = append(rows, []string{f.Function, variant, accuracy, mb, seconds(f.Seconds), fmt.Sprintf("%.3g", f.Runs),
			usd(f.USD)})
	}
	b.WriteString(report.Columns(rows, true))
	fmt.Fprintf(&b, "\nresponse time  %s mean%s\naccuracy       %.4g\ncost           %s USD per million executions: %s\n",
		seconds(p.Seconds), p.tail(), p.Accuracy, usd(p.USD), p.Split.text(p.USD))
	if p.Proved > 0 {
		b.WriteString("\n" + r.proof())
	}
	if p.Measured != nil {
		fmt.Fprintf(&b, "\nmeasured under %s\n\n%s", load(r.Load), measuredText(p.Measured))
	}
	return b.String()
}

// tail says the 95th percentile where it is known.
func (p *Plan) tail() string {
	if p.P95 == 0 {
		return ""
	}
	return fmt.Sprintf(", p95 %s (%s to %s)", seconds(p.P95), seconds(p.P95Low), seconds(p.P95High))
}

// proof says whether the plan is the optimum.
func (r *Result) proof() string {
	p := &r.Plans[0]
	switch {
	case p.Exact && r.Problem.Percentile == 0:
		return "It is the optimum.\n"
	case p.Exact:
		return "It is the optimum, up to the error of the percentiles.\n"
	}
	value, unit := r.Problem.Value(p.Outcome), "USD"
	switch r.Problem.Objective {
	case variants.Time:
		unit = "s"
		if r.Problem.Percentile > 0 {
			value = p.P95
		}
	case variants.Accuracy:
		return "The search ended before its end: nothing has an accuracy above " + report.Plain(p.Proved) + ".\n"
	}
	return fmt.Sprintf("The search ended before its end: nothing is below %s %s (%.1f %% less).\n", report.Plain(p.Proved), unit,
		100*(1-p.Proved/value))
}

// ends writes what is possible at all.
func (r *Result) ends(b *strings.Builder) {
	head := []string{r.App, "mean time", "p95", "USD a million", "accuracy"}
	if r.Load != nil {
		head = append(head, "measured mean", "p95", "USD", "cold")
	}
	rows := [][]string{append(head, "configuration")}
	for _, p := range r.Plans {
		p95 := ""
		if p.P95 > 0 {
			p95 = seconds(p.P95)
		}
		row := []string{p.Name, seconds(p.Seconds), p95, usd(p.USD), fmt.Sprintf("%.4g", p.Accuracy)}
		if m := p.Measured; m != nil {
			row = append(row, seconds(m.Mean.Value), seconds(m.P95.Value), usd(m.USD.Value),
				fmt.Sprintf("%.3g %%", 100*m.ColdRequests))
		}
		rows = append(rows, append(row, p.short()))
	}
	b.WriteString(report.Columns(rows, true))
	if r.Load != nil {
		fmt.Fprintf(b, "\nmeasured under %s; cold: requests that meet a cold start\n", load(r.Load))
	}
	b.WriteString("\nAsk for more with --latency, --p95, --budget, --accuracy or --objective.\n")
}

// short is the configuration in a line.
func (p *Plan) short() string {
	var out []string
	for _, f := range p.Functions {
		if f.MB > 0 { // else nothing is to choose
			out = append(out, fmt.Sprintf("%s %g", f.Variant, f.MB))
		}
	}
	return strings.Join(out, ", ")
}

func (s Split) text(total float64) string {
	part := func(name string, x float64) string {
		return fmt.Sprintf("%s %s (%.1f %%)", name, usd(x), 100*x/max(total, 1e-300))
	}
	return strings.Join([]string{part("time", s.Time), part("rounding up", s.Rounding), part("requests", s.Requests),
		part("orchestration", s.Orchestration)}, ", ")
}

func seconds(x float64) string {
	switch {
	case x < 1:
		return fmt.Sprintf("%.0f ms", 1000*x)
	case x < 100:
		return fmt.Sprintf("%.2f s", x)
	}
	return fmt.Sprintf("%.0f s", x)
}

func usd(x float64) string { return fmt.Sprintf("%.2f", x) }

// Front is the exact trade-offs of an application between time, cost and accuracy.
type Front struct {
	model *variants.Model
	plans []variants.Plan
}

// FrontOf works out all configurations that keep the request's accuracy and that no other dominates.
func FrontOf(ctx context.Context, m *variants.Model, q Request) (*Front, error) {
	plans, err := m.Tradeoffs(ctx, q.Accuracy)
	return &Front{m, plans}, err
}

// Len returns the number of configurations.
func (f *Front) Len() int { return len(f.plans) }

// WriteCSV writes a row per configuration: accuracy falling, then time rising.
func (f *Front) WriteCSV(file string) error {
	head := []string{"accuracy", "seconds", "usd_per_million"}
	for _, name := range f.model.Flow.Functions() {
		head = append(head, name, name+"_mb")
	}
	rows := [][]string{head}
	for _, p := range f.plans {
		row := report.Cells(p.Accuracy, p.Seconds, p.USD)
		for i, c := range p.Choice {
			o := f.model.Options[i][c]
			row = report.Cells(row, f.model.Variants[i][o.Variant].Name, o.MB)
		}
		rows = append(rows, row)
	}
	return report.WriteFile(filepath.Dir(file), filepath.Base(file), rows)
}

// maxLines bounds the accuracies that a figure shows.
const maxLines = 6

// formats are the kinds of figures, by the end of the file's name.
var formats = map[string]func(f *chart.Figure, w io.Writer) error{
	".png": func(f *chart.Figure, w io.Writer) error { return f.PNG(w, 150) },
	".svg": (*chart.Figure).SVG,
	".pdf": (*chart.Figure).PDF,
}

// CheckPlot reports a figure's name whose end is no kind of figure.
func CheckPlot(file string) error {
	if formats[filepath.Ext(file)] == nil {
		return fmt.Errorf("%s: no such kind of figure: want a name that ends in .png, .svg or .pdf", file)
	}
	return nil
}

// Plot draws cost over time, a line for each of some accuracies, and the plans of a result, and leaves the data beside the
// figure as CSV. It returns the name of that file.
func (f *Front) Plot(file string, r *Result) (string, error) {
	if err := CheckPlot(file); err != nil {
		return "", err
	}
	data := strings.TrimSuffix(file, filepath.Ext(file)) + ".csv"
	if err := f.WriteCSV(data); err != nil {
		return "", err
	}
	return data, chart.WriteFile(file, func(w io.Writer) error { return formats[filepath.Ext(file)](f.figure(r), w) })
}

func (f *Front) figure(r *Result) *chart.Figure {
	p := chart.NewPanel("", "mean response time (s)", "cost (USD per million executions)")
	fig := &chart.Figure{Title: "What " + f.model.App.Name + " can be", Panels: []*chart.Panel{p}, Columns: 1,
		Width: 13 * vg.Centimeter, Height: 9 * vg.Centimeter,
		Under: "each line: all configurations of at least an accuracy that none dominates (exact)"}
	for i, level := range f.shown() {
		style := chart.Styles(i)
		var x, y []float64
		for _, plan := range f.atLeast(level) { // a cost holds until a slower configuration is cheaper
			if n := len(y); n > 0 {
				x, y = append(x, plan.Seconds), append(y, y[n-1])
			}
			x, y = append(x, plan.Seconds), append(y, plan.USD)
		}
		if len(x) == 1 {
			p.Cross(style, chart.Exactly(x[0]), chart.Exactly(y[0]))
		}
		p.Line(style, x, y, false)
		fig.Key = append(fig.Key, chart.Entry{Text: fmt.Sprintf("accuracy from %.3g", level), Style: style, Line: true})
	}
	if r != nil && r.Problem != nil {
		style := chart.Bound()
		p.Cross(style, chart.Exactly(r.Plans[0].Seconds), chart.Exactly(r.Plans[0].USD))
		fig.Key = append(fig.Key, chart.Entry{Text: "the plan", Style: style, Dot: true})
		if r.Problem.Latency > 0 && r.Problem.Percentile == 0 {
			p.LevelX(r.Problem.Latency)
		}
		if r.Problem.Budget > 0 {
			p.LevelY(r.Problem.Budget)
		}
	}
	return fig
}

// shown returns up to maxLines of the accuracies, spread evenly over them with both ends, falling.
func (f *Front) shown() []float64 {
	var all []float64
	for _, p := range f.plans {
		if n := len(all); n == 0 || p.Accuracy < all[n-1]-1e-9 {
			all = append(all, p.Accuracy)
		}
	}
	if len(all) <= maxLines {
		return all
	}
	return lists.Make(maxLines, func(i int) float64 { return all[i*(len(all)-1)/(maxLines-1)] })
}

// atLeast returns the front in time and cost of the configurations that have an accuracy.
func (f *Front) atLeast(accuracy float64) []variants.Plan {
	all := slices.DeleteFunc(slices.Clone(f.plans), func(p variants.Plan) bool { return p.Accuracy < accuracy-1e-9 })
	slices.SortFunc(all, func(a, b variants.Plan) int {
		return cmp.Or(cmp.Compare(a.Seconds, b.Seconds), cmp.Compare(a.USD, b.USD))
	})
	out := all[:0]
	for _, p := range all {
		if n := len(out); n == 0 || p.USD < out[n-1].USD {
			out = append(out, p)
		}
	}
	return out
}
