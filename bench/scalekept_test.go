package bench

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// keptScale is the folder of the measurements on generated workflows that the documentation shows.
var keptScale = filepath.Join("..", "docs", "results", "scale")

// scaleQuantities are what is measured of a form at a size, with units in table and figure.
var scaleQuantities = []struct {
	name, unit string
	of         func(r Result) float64
}{
	{"update", "ms of processor time", func(r Result) float64 { return r.UpdateCPU / 1e6 }},
	{"decision", "ms of processor time", func(r Result) float64 { return r.DecisionCPU / 1e6 }},
	{"environment step", "ms of processor time", func(r Result) float64 { return r.StepCPU / 1e6 }},
	{"resident memory", "MB", func(r Result) float64 { return r.PeakMemory }},
	{"parameters", "", func(r Result) float64 { return float64(r.Parameters) }},
}

// scaleRow is a quantity of a form at a size: the median of the repetitions and its quartiles; of returns the mean over
// training seeds, the least and the largest.
type scaleRow struct {
	form, quantity, unit string
	size                 int
	at, low, high        float64
	repeats              int
}

// scaleFit is the growth of a quantity of a form, over all sizes and from 50 functions on, where what does not grow
// matters less.
type scaleFit struct {
	Form     string   `json:"form"`
	Quantity string   `json:"quantity"`
	All      Exponent `json:"from_5"`
	Large    Exponent `json:"from_50"`
}

// TestKeptScale is TestKept for the measurements on generated workflows.
func TestKeptScale(t *testing.T) {
	from := cmp.Or(*measured, keptScale)
	rows := readKept[Result](t, from, "scale.jsonl")
	returns := readReturns(t, filepath.Join(from, "returns.csv"))
	fits := scaleFits(rows)
	data := append(scaleRows(rows), returns...)
	table, claims, growth := scaleTable(rows, returns, fits), scaleClaims(fits), scaleCSV(data)
	text := must.Get(json.MarshalIndent(fits, "", "  "))(t)
	files := map[string]string{"table.md": table, "growth.csv": growth, "exponents.json": string(text) + "\n"}
	if dir := keeps(t, keptScale, claims, files); dir != "" {
		must.Get(scaleFigure(data).Save(dir, "scale"))(t)
	}
}

// formNames are the forms in their order, as figure and table call them.
var formNames = []struct{ name, text string }{
	{"attmf", "AttMF (attention)"}, {"mf", "MF (mean)"}, {"maddpg", "MADDPG (joint critic)"},
}

// scaleAt returns the measurements of a form's quantity by size.
func scaleAt(rows []Result, form string, of func(Result) float64) (points []measuredAt) {
	by := map[int][]float64{}
	for _, r := range rows {
		if r.Form == form {
			by[r.Agents] = append(by[r.Agents], of(r))
		}
	}
	for n, values := range by {
		points = append(points, measuredAt{float64(n), values})
	}
	slices.SortFunc(points, func(a, b measuredAt) int { return cmp.Compare(a.size, b.size) })
	return points
}

func scaleRows(rows []Result) (out []scaleRow) {
	for _, f := range formNames {
		for _, q := range scaleQuantities {
			for _, p := range scaleAt(rows, f.name, q.of) {
				s := slices.Sorted(slices.Values(p.values))
				out = append(out, scaleRow{f.name, q.name, q.unit, int(p.size), quantile(s, 0.5), quantile(s, 0.25),
					quantile(s, 0.75), len(s)})
			}
		}
	}
	return out
}

func scaleFits(rows []Result) (fits []scaleFit) {
	for _, f := range formNames {
		for _, q := range scaleQuantities {
			points := scaleAt(rows, f.name, q.of)
			large := slices.DeleteFunc(slices.Clone(points), func(p measuredAt) bool { return p.size < 50 })
			fits = append(fits, scaleFit{f.name, q.name, fitExponent(points), fitExponent(large)})
		}
	}
	return fits
}

// readReturns reads the evaluations' returns: means over training seeds of means over workload seeds. Of fixed, which
// does not learn, the range is over workload seeds.
func readReturns(t *testing.T, path string) (out []scaleRow) {
	t.Helper()
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	lines := must.Get(csv.NewReader(file).ReadAll())(t)
	type key struct {
		form, metric  string
		size, updates int
	}
	seeds := map[key]map[string][]float64{}
	for i, l := range lines[1:] {
		n, e1 := strconv.Atoi(l[0])
		updates, e2 := strconv.Atoi(l[1])
		x, e3 := strconv.ParseFloat(l[7], 64)
		if e1 != nil || e2 != nil || e3 != nil {
			t.Fatalf("%s:%d: %q, want functions, updates and a value", path, i+2, l)
		}
		k, seed := key{l[2], l[6], n, updates}, l[4]
		if l[3] == "fixed" {
			if l[2] != "attmf" {
				continue // the same for all forms
			}
			k.form, seed = "fixed", l[5]
		}
		if seeds[k] == nil {
			seeds[k] = map[string][]float64{}
		}
		seeds[k][seed] = append(seeds[k][seed], x)
	}
	for k, by := range seeds {
		r := scaleRow{form: k.form, quantity: k.metric, unit: fmt.Sprintf("after %d updates", k.updates), size: k.size,
			low: math.Inf(1), high: math.Inf(-1), repeats: len(by)}
		for _, seed := range slices.Sorted(maps.Keys(by)) {
			m := average(by[seed])
			r.at, r.low, r.high = r.at+m/float64(len(by)), min(r.low, m), max(r.high, m)
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b scaleRow) int {
		return cmp.Or(cmp.Compare(a.form, b.form), cmp.Compare(a.quantity, b.quantity), cmp.Compare(a.size, b.size))
	})
	return out
}

func average(x []float64) (sum float64) {
	for _, v := range x {
		sum += v / float64(len(x))
	}
	return sum
}

// scaleClaims hold growth against its bounds: near linear, which leaves room for caches.
func scaleClaims(fits []scaleFit) (claims []proof.Row) {
	for _, c := range []struct {
		form, quantity string
		most           float64
	}{
		{"attmf", "update", 1.2}, {"mf", "update", 1.2}, {"maddpg", "update", 1.2}, {"attmf", "decision", 1.2},
		{"maddpg", "decision", 1.2}, {"attmf", "environment step", 1.2},
	} {
		for _, f := range fits {
			if f.Form == c.form && f.Quantity == c.quantity {
				claims = append(claims, proof.Row{
					Topic: "speed", Claim: fmt.Sprintf("Generated workflows, %s: the exponent of one %s's processor time, "+
						"50 to 1,000 functions", c.form, c.quantity),
					Bound: fmt.Sprintf("%g at most", c.most), Holds: f.Large.Value <= c.most, Command: "make verify NAME=scale",
					Measured: fmt.Sprintf("%.2f (%.2f to %.2f)", f.Large.Value, f.Large.Low, f.Large.High),
				})
			}
		}
	}
	return claims
}

// scaleTable is the page's table: times, memory and returns by form and size, then exponents.
func scaleTable(rows []Result, returns []scaleRow, fits []scaleFit) string {
	var b strings.Builder
	b.WriteString("| functions | form | update, ms | decision, ms | environment step, ms | resident, MB | parameters | " +
		"needs with weights of each function's own, MB | return |\n|---|---|---|---|---|---|---|---|---|\n")
	all := scaleRows(rows)
	find := func(rows []scaleRow, form, quantity string, size int) (scaleRow, bool) {
		i := slices.IndexFunc(rows, func(r scaleRow) bool {
			return r.form == form && r.quantity == quantity && r.size == size
		})
		if i < 0 {
			return scaleRow{}, false
		}
		return rows[i], true
	}
	cell := func(r scaleRow) string { return fmt.Sprintf("%.3g (%.3g–%.3g)", r.at, r.low, r.high) }
	for _, p := range scaleAt(rows, "attmf", func(r Result) float64 { return 0 }) {
		n := int(p.size)
		for _, f := range formNames {
			fmt.Fprintf(&b, "| %d | %s |", n, f.text)
			for _, q := range scaleQuantities[:4] {
				r, _ := find(all, f.name, q.name, n)
				fmt.Fprintf(&b, " %s |", cell(r))
			}
			i := slices.IndexFunc(rows, func(r Result) bool { return r.Form == f.name && r.Agents == n })
			fmt.Fprintf(&b, " %d | %.0f |", rows[i].Parameters, rows[i].NeedsOwn)
			if r, ok := find(returns, f.name, "return", n); ok {
				fmt.Fprintf(&b, " %s |\n", cell(r))
			} else {
				b.WriteString(" – |\n")
			}
		}
		if r, ok := find(returns, "fixed", "return", n); ok {
			fmt.Fprintf(&b, "| %d | `fixed` | – | – | – | – | – | – | %s |\n", n, cell(r))
		}
	}
	b.WriteString("\n| form | quantity | exponent, 5 to 1,000 functions | exponent, 50 to 1,000 |\n|---|---|---|---|\n")
	for _, f := range fits {
		fmt.Fprintf(&b, "| %s | %s | %.2f [%.2f, %.2f] | %.2f [%.2f, %.2f] |\n", f.Form, f.Quantity, f.All.Value,
			f.All.Low, f.All.High, f.Large.Value, f.Large.Low, f.Large.High)
	}
	return b.String()
}

// scaleCSV is the figure's data.
func scaleCSV(rows []scaleRow) string {
	var b strings.Builder
	b.WriteString("form,functions,quantity,unit,value,lo,hi,repeats\n")
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 5, 64) }
	for _, r := range rows {
		fmt.Fprintf(&b, "%s,%d,%s,%s,%s,%s,%s,%d\n", r.form, r.size, r.quantity, r.unit, number(r.at), number(r.low),
			number(r.high), r.repeats)
	}
	return b.String()
}

// scaleFigure draws the quantities over the number of functions.
func scaleFigure(rows []scaleRow) *chart.Figure {
	f := &chart.Figure{Title: "Generated workflows of 5 to 1,000 functions, one set of weights, one thread", Columns: 2,
		Under: "Times: processor time, median and quartiles. Return: mean and range over training seeds, at equal updates " +
			"for each size",
		Width: 11 * vg.Centimeter, Height: 8 * vg.Centimeter}
	forms := append(slices.Clone(formNames), struct{ name, text string }{"fixed", "fixed (no learning)"})
	for i, form := range forms {
		f.Key = append(f.Key, chart.Entry{Text: form.text, Style: chart.Styles(i), Line: true, Dot: true})
	}
	for _, q := range []struct{ quantity, axis string }{
		{"update", "an update, ms"}, {"decision", "a decision for all functions, ms"}, {"resident memory", "resident memory, MB"},
		{"return", "return"},
	} {
		p := chart.NewPanel("", "functions", q.axis)
		p.LogX()
		if q.quantity != "return" {
			p.LogY()
		}
		for i, form := range forms {
			var x, y []float64
			for _, r := range rows {
				if r.form == form.name && r.quantity == q.quantity {
					x, y = append(x, float64(r.size)), append(y, r.at)
					p.Cross(chart.Styles(i), chart.Exactly(float64(r.size)), chart.Range{At: r.at, Low: r.low, High: r.high})
				}
			}
			p.Line(chart.Styles(i), x, y, false)
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}
