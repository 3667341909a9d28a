package profiles

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
)

// Auto is the choice of the law that errs least at sizes left out.
const Auto = "auto"

// Request says what to fit.
type Request struct {
	// Law is a form of package memory, or Auto.
	Law string
	// Few is the number of memory sizes to use, spread evenly; 0 uses all. Errors are always over all.
	Few int
	// Options are the fit's.
	Options memory.Options
}

// Default takes the best law of each function, fitted to all sizes.
func Default() Request {
	return Request{Law: Auto, Options: memory.Options{SingleCore: memory.SingleCore}}
}

// Laws are the values of Request.Law.
func Laws() []string {
	return append([]string{Auto}, lists.From(memory.Forms(), func(f memory.Form) string { return string(f) })...)
}

// Validate reports what no fit can have.
func (q Request) Validate() error {
	if !slices.Contains(Laws(), q.Law) {
		return fmt.Errorf("no law %q, there are %s", q.Law, strings.Join(Laws(), ", "))
	}
	if q.Few < 0 || q.Few == 1 {
		return fmt.Errorf("%d memory sizes, want 0 for all or at least 2", q.Few)
	}
	return nil
}

// Result is what stoker profile fit prints as JSON.
type Result struct {
	// Error is the relative error of the chosen laws over all functions and sizes, Published that of OptiServe's: the
	// exponential law by plain least squares.
	Error     Errors     `json:"error"`
	Published Errors     `json:"published"`
	Functions []Function `json:"functions"`
}

// Errors are relative errors of predicted mean times, each size of each function once.
type Errors struct {
	MAPE eval.Number `json:"mape"` // mean
	P80  eval.Number `json:"p80"`  // 80th percentile, OptiServe's Fig. 5.1
	Max  eval.Number `json:"max"`
	all  []float64
}

// Function is a function's measurements with the laws fitted to them.
type Function struct {
	Name string `json:"name"`
	Runs int    `json:"runs"`
	Used int    `json:"sizes_used"` // sizes that the laws were fitted to
	// Laws come with the best at sizes left out first; the first is the chosen one.
	Laws      []Law  `json:"laws"`
	Published Law    `json:"published"`
	Sizes     []Size `json:"sizes"`
	// Rises are the memory sizes in MB whose mean time is above that of the size before by more than chance: anomalies to
	// measure again.
	Rises []float64 `json:"rises,omitempty"`

	law, published memory.Law
}

// Law is a fitted law.
type Law struct {
	Form memory.Form `json:"form"`
	Text string      `json:"text"`
	// Parameters are those of package memory's type of the form.
	Parameters memory.Law  `json:"parameters"`
	MAPE       eval.Number `json:"mape"`
	LeftOut    eval.Number `json:"left_out"`
}

// Size is a measured memory size with what the chosen law says.
type Size struct {
	MB        float64 `json:"mb"`
	Runs      int     `json:"runs"`
	Mean      float64 `json:"mean"`   // seconds
	Median    float64 `json:"median"` // seconds
	SD        float64 `json:"sd"`     // seconds
	Predicted float64 `json:"predicted"`
	Error     float64 `json:"error"` // relative
	Published float64 `json:"published"`
}

// Fit reads runs from a CSV file and fits laws to each function.
func Fit(r io.Reader, q Request) (*Result, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	names, samples, err := memory.Read(r)
	if err != nil {
		return nil, err
	}
	out := &Result{}
	for _, name := range names {
		f, err := fit(name, samples[name], q)
		if err != nil {
			return nil, err
		}
		for _, s := range f.Sizes {
			out.Error.all = append(out.Error.all, math.Abs(s.Error))
			out.Published.all = append(out.Published.all, math.Abs(s.Published/s.Mean-1))
		}
		out.Functions = append(out.Functions, *f)
	}
	out.Error.sum()
	out.Published.sum()
	return out, nil
}

func fit(name string, samples []memory.Sample, q Request) (*Function, error) {
	named := func(err error) error {
		text := strings.TrimPrefix(err.Error(), "memory: ")
		if name == "" {
			return fmt.Errorf("%s", text)
		}
		return fmt.Errorf("function %s: %s", name, text)
	}
	sizes, err := memory.Sizes(samples)
	if err != nil {
		return nil, named(err)
	}
	used := sizes
	if q.Few > 0 {
		used = memory.Few(sizes, q.Few)
	}
	var forms []memory.Form
	if q.Law != Auto {
		forms = []memory.Form{memory.Form(q.Law)}
	}
	laws, err := memory.Choose(used, q.Options, forms...)
	if err != nil {
		return nil, named(err)
	}
	plain := q.Options
	plain.Plain = true
	published, err := memory.Choose(used, plain, memory.Exponential)
	if err != nil {
		return nil, named(err)
	}
	f := &Function{Name: name, Runs: len(samples), Used: len(used), Published: lawOf(published[0], sizes),
		law: laws[0].Law, published: published[0].Law}
	for _, l := range laws {
		f.Laws = append(f.Laws, lawOf(l, sizes))
	}
	for _, s := range sizes {
		p := f.law.Seconds(s.MB)
		f.Sizes = append(f.Sizes, Size{MB: s.MB, Runs: s.Runs, Mean: s.Mean, Median: s.Median, SD: s.SD, Predicted: p,
			Error: p/s.Mean - 1, Published: f.published.Seconds(s.MB)})
	}
	for _, s := range memory.Rises(sizes) {
		f.Rises = append(f.Rises, s.MB)
	}
	return f, nil
}

// lawOf takes the error over all sizes, whichever the law was fitted to.
func lawOf(l memory.Fitted, sizes []memory.Size) Law {
	var mape float64
	for _, s := range sizes {
		mape += math.Abs(l.Law.Seconds(s.MB)/s.Mean-1) / float64(len(sizes))
	}
	return Law{Form: l.Law.Form(), Text: l.Law.String(), Parameters: l.Law, MAPE: eval.Number(mape),
		LeftOut: eval.Number(l.LeftOut)}
}

func (e *Errors) sum() {
	slices.Sort(e.all)
	n := len(e.all)
	var mean float64
	for _, x := range e.all {
		mean += x / float64(n)
	}
	e.MAPE, e.P80, e.Max = eval.Number(mean), eval.Number(e.all[(n*8+9)/10-1]), eval.Number(e.all[n-1])
}

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
	b.WriteString(report.Columns(rows, true))
	fmt.Fprintf(&b, "\nRelative error of the mean time, each size of each function once: mean %s, 80th percentile %s, most %s;\n"+
		"the exponential law by plain least squares (OptiServe, eq. 3.1): %s, %s, %s.\n", percent(r.Error.MAPE),
		percent(r.Error.P80), percent(r.Error.Max), percent(r.Published.MAPE), percent(r.Published.P80),
		percent(r.Published.Max))
	for _, f := range r.Functions {
		if len(f.Rises) > 0 {
			fmt.Fprintf(&b, "%s: slower than with the size before, by more than chance, at %s MB: measure these again.\n", f.Name,
				strings.Join(lists.From(f.Rises, report.Plain), ", "))
		}
	}
	return b.String()
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
	sizes := [][]string{{"function", "memory_mb", "runs", "mean_s", "median_s", "sd_s", "predicted_s", "error",
		"exponential_plain_s"}}
	laws := [][]string{{"function", "law", "text", "mape", "left_out"}}
	for _, f := range r.Functions {
		for _, s := range f.Sizes {
			sizes = append(sizes, report.Cells(f.Name, s.MB, float64(s.Runs), s.Mean, s.Median, s.SD, s.Predicted, s.Error, s.Published))
		}
		for _, l := range f.Laws {
			laws = append(laws, report.Cells(f.Name, l.Form, l.Text, l.MAPE, l.LeftOut))
		}
	}
	f := report.Into(dir)
	f.JSON("profile.json", r)
	f.CSV("profile_sizes.csv", sizes)
	f.CSV("profile_laws.csv", laws)
	f.Draw("profile", r.laws())
	f.Draw("profile_errors", r.errors())
	return f.Files()
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
