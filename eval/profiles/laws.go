package profiles

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/envs/perfmodel"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
)

// LawsResult is what stoker profile fit prints as JSON for windows and requests.
type LawsResult struct {
	Kind Kind   `json:"kind"`
	File string `json:"file"`
	// Idle is the number of windows without a request, which are left out. Unnamed says that no column names functions.
	Idle      int           `json:"idle"`
	Unnamed   bool          `json:"unnamed,omitempty"`
	Functions []FunctionFit `json:"functions"`
}

// FunctionFit is a function's law of env.laws, with its errors.
type FunctionFit struct {
	Name string `json:"function"`
	Rows int    `json:"rows"`
	// Law is the fitted law; Idle is its memory. Error and LeftOut are mean relative errors of the mean times.
	Law      perfmodel.Law      `json:"law"`
	Error    eval.Number        `json:"error"`
	LeftOut  eval.Number        `json:"left_out"`
	Untold   []perfmodel.Untold `json:"untold"`
	Settings []SettingFit       `json:"settings"`
}

// SettingFit is a measured setting with what the law says.
type SettingFit struct {
	CPU       float64 `json:"cpu"`    // millicores
	Inside    float64 `json:"inside"` // requests in an instance
	Rows      int     `json:"rows"`
	Measured  float64 `json:"measured"`  // seconds, mean
	Predicted float64 `json:"predicted"` // seconds
}

// FitLaws reads windows or requests from a CSV file and fits the laws that the sizing environment wants. file is the
// name that the laws give as their source.
func FitLaws(r io.Reader, file string) (*LawsResult, error) {
	b := bufio.NewReader(r)
	kind, err := KindOf(b)
	if err != nil {
		return nil, err
	}
	if kind == RunRows {
		return nil, fmt.Errorf("line 1: these are runs over memory sizes, %s", wanted)
	}
	functions, idle, err := readMeasured(b, kind)
	if err != nil {
		return nil, err
	}
	out := &LawsResult{Kind: kind, File: file, Idle: idle}
	for _, f := range functions {
		fitted, err := perfmodel.FitLaw(f.settings)
		if err != nil {
			return nil, fmt.Errorf("function %s: %s", f.name, strings.TrimPrefix(err.Error(), "perfmodel: "))
		}
		l := FunctionFit{Name: f.name, Rows: f.rows, Law: fitted.Law, Error: eval.Number(fitted.Error),
			LeftOut: eval.Number(fitted.LeftOut), Untold: fitted.Untold}
		if l.Name == "" {
			l.Name, out.Unnamed = "function", true
		}
		l.Law.Source = "fitted to " + file
		if f.memoryRows > 0 {
			l.Law.Idle = math.Round(f.memory / f.memoryRows)
		} else {
			l.Untold = append(l.Untold, perfmodel.Untold{Parameter: "idle", Why: "it is the memory of an instance in MB",
				Measure: "it in windows (column memory_mb), or write it into the law: a policy that never saw memory in use is guarded " +
					"from yours"})
		}
		for i, s := range f.settings {
			l.Settings = append(l.Settings, SettingFit{CPU: s.CPU, Inside: s.Inside, Rows: s.Rows, Measured: s.Seconds,
				Predicted: fitted.Predicted[i]})
		}
		out.Functions = append(out.Functions, l)
	}
	return out, nil
}

// Laws are the entries of env.laws.
func (r *LawsResult) Laws() []sizing.FunctionLaw {
	return lists.From(r.Functions, func(f FunctionFit) sizing.FunctionLaw { return sizing.FunctionLaw{Function: f.Name, Law: f.Law} })
}

// LawsYAML writes laws as the lines of env.laws in a configuration, one law a line, indented by four.
func LawsYAML(laws []sizing.FunctionLaw) string {
	var b strings.Builder
	for _, l := range laws {
		fmt.Fprintf(&b, "    - {function: %s, work: %g, parallel: %g, overhead: %g, crowding: %g, cv: %g", plainYAML(l.Function),
			l.Work, l.Parallel, l.Overhead, l.Crowding, l.CV)
		for _, v := range []struct {
			key string
			x   float64
		}{{"spoilt", l.Spoilt}, {"memory", l.Memory}, {"idle", l.Idle}, {"payload", l.Payload}} {
			if v.x != 0 {
				fmt.Fprintf(&b, ", %s: %g", v.key, v.x)
			}
		}
		if l.Source != "" {
			fmt.Fprintf(&b, ", source: %s", strconv.Quote(l.Source))
		}
		b.WriteString("}\n")
	}
	return b.String()
}

var plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// plainYAML quotes a text that YAML would not take for one.
func plainYAML(s string) string {
	if plainText.MatchString(s) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"},
		strings.ToLower(s)) {
		return s
	}
	return strconv.Quote(s)
}

// YAML is the part of a configuration that holds the laws: what laws.yaml has.
func (r *LawsResult) YAML() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Fitted by stoker profile fit %s. Mean error of the mean times, and at settings left out of the fit:\n",
		r.File)
	for _, f := range r.Functions {
		fmt.Fprintf(&b, "#   %s: %s, %s", f.Name, percent(f.Error), percent(f.LeftOut))
		if names := f.untold(); len(names) > 0 {
			fmt.Fprintf(&b, "; not told by the measurements: %s", strings.Join(names, ", "))
		}
		b.WriteString("\n")
	}
	return b.String() + "env:\n  laws:\n" + LawsYAML(r.Laws())
}

func (f *FunctionFit) untold() []string {
	return lists.From(f.Untold, func(u perfmodel.Untold) string { return u.Parameter })
}

// LawsText is the result for a terminal.
func LawsText(r *LawsResult) string {
	rows := [][]string{{"function", string(r.Kind), "settings", "work", "parallel", "overhead", "crowding", "cv", "error",
		"left out"}}
	for _, f := range r.Functions {
		row := []string{f.Name, strconv.Itoa(f.Rows), strconv.Itoa(len(f.Settings))}
		for _, v := range []struct {
			name string
			x    float64
		}{{"work", f.Law.Work}, {"parallel", f.Law.Parallel}, {"overhead", f.Law.Overhead}, {"crowding", f.Law.Crowding},
			{"cv", f.Law.CV}} {
			text := report.Plain(v.x)
			if slices.Contains(f.untold(), v.name) {
				text += "?"
			}
			row = append(row, text)
		}
		rows = append(rows, append(row, percent(f.Error), percent(f.LeftOut)))
	}
	var b strings.Builder
	b.WriteString(report.Columns(rows, true))
	b.WriteString("\nerror: mean relative error of the mean times, each setting (CPU limit and load) once, at the number of requests\n" +
		"that it had in an instance; left out: where the law was fitted to the other settings. ?: not told by the measurements.\n" +
		"work in core-seconds; parallel, overhead and crowding in cores.\n")
	if r.Idle > 0 {
		fmt.Fprintf(&b, "%d windows without a request are left out.\n", r.Idle)
	}
	if r.Unnamed {
		b.WriteString("There is no column function: all rows are one function.\n")
	}
	b.WriteString(r.questions())
	return b.String() + "\n" + r.YAML()
}

// questions says what the measurements do not tell, once for functions that lack the same for the same reason.
func (r *LawsResult) questions() string {
	var order []string
	of := map[string][]string{}
	for _, f := range r.Functions {
		for _, u := range f.Untold {
			text := fmt.Sprintf("%s is not told by these measurements: %s. Taken: %s.\n  To know it, measure %s.\n",
				u.Parameter, u.Why, report.Plain(u.Taken), u.Measure)
			if of[text] == nil {
				order = append(order, text)
			}
			of[text] = append(of[text], f.Name)
		}
	}
	var b strings.Builder
	for _, text := range order {
		if len(of[text]) < len(r.Functions) {
			b.WriteString(strings.Join(of[text], ", ") + ": ")
		}
		b.WriteString(text)
	}
	return b.String()
}

// WriteLaws leaves laws.yaml, laws.json, the settings with their predictions as CSV, and the figure. It returns the names
// of the files.
func WriteLaws(dir string, r *LawsResult) ([]string, error) {
	settings := [][]string{{"function", "cpu", "inside", "rows", "measured_s", "predicted_s", "error"}}
	for _, f := range r.Functions {
		for _, s := range f.Settings {
			settings = append(settings, report.Cells(f.Name, s.CPU, s.Inside, s.Rows, s.Measured, s.Predicted, s.Predicted/s.Measured-1))
		}
	}
	f := report.Into(dir)
	f.Write("laws.yaml", []byte(r.YAML()), nil)
	f.JSON("laws.json", r)
	f.CSV("laws_settings.csv", settings)
	f.Draw("laws", r.figure())
	return f.Files()
}

// figure draws each function's times over the CPU limit: what was measured, what the law says there, and what it says of
// a request that is alone.
func (r *LawsResult) figure() *chart.Figure {
	measured, law, alone := chart.Common(), chart.Styles(0), chart.Styles(1)
	f := &chart.Figure{Title: "Laws of execution time", Columns: min(3, len(r.Functions)), Width: 6.4 * vg.Centimeter,
		Height: 5 * vg.Centimeter, Under: "each setting (CPU limit and load) once; the law stands a little to the right",
		Key: []chart.Entry{{Text: "measured mean", Style: measured, Dot: true}, {Text: "law at that load", Style: law, Dot: true},
			{Text: "law, a request alone", Style: alone, Line: true}}}
	for i := range r.Functions {
		fn := &r.Functions[i]
		p := chart.NewPanel(fn.Name, "CPU limit (millicores)", "time (s)")
		p.LogX()
		p.LogY()
		low, high := fn.Settings[0].CPU, fn.Settings[len(fn.Settings)-1].CPU
		var x, y []float64
		for j := range 121 {
			cpu := low / 1.2 * math.Pow(1.44*high/low, float64(j)/120)
			x, y = append(x, cpu), append(y, fn.Law.Alone(cpu))
		}
		p.Line(alone, x, y, false)
		for _, s := range fn.Settings {
			p.Cross(measured, chart.Exactly(s.CPU), chart.Exactly(s.Measured))
			p.Cross(law, chart.Exactly(s.CPU*1.05), chart.Exactly(s.Predicted))
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}
