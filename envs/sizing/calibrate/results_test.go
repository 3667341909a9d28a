package calibrate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// results is what docs/results/laws keeps.
type results struct {
	Data   string      `json:"data"`
	Fitted *Comparison `json:"fitted"`
	Held   *Comparison `json:"held_out"`
	All    *Comparison `json:"all"`
	// Noise is, for each function, how much its p75 differs between neighbours ([Neighbours]).
	Noise []noise `json:"neighbours"`
}

type noise struct {
	Function  string    `json:"function"`
	Pairs     int       `json:"pairs"`
	Measured  Quartiles `json:"measured"`
	Simulated Quartiles `json:"simulated"`
}

func (r *results) noise(rows []Measured) {
	measured, pairs := Neighbours(rows, func(k, f int) float64 { return rows[k].Functions[f].P75 })
	simulated, _ := Neighbours(rows, func(k, f int) float64 { return r.All.Functions[f].Simulated[k*r.All.Times] })
	for f, m := range rows[0].Functions {
		r.Noise = append(r.Noise, noise{m.Name, pairs[f], measured[f], simulated[f]})
	}
}

func (r *results) noiseTable() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| function | pairs | measured | simulated |\n|---|---|---|---|\n")
	for _, n := range r.Noise {
		fmt.Fprintf(&b, "| %s | %d | %.2f–%.2f | %.2f–%.2f |\n", n.Function, n.Pairs, n.Measured.Lower, n.Measured.Upper,
			n.Simulated.Lower, n.Simulated.Upper)
	}
	return b.String()
}

// claim states the errors. The bounds were set before the last fit of the laws. Quartiles may differ from the floor's
// by a tenth.
func (r *results) claim(t *testing.T) {
	say := func(claim, bound, measured string, holds bool) {
		t.Helper()
		proof.Claim(t, proof.Row{Topic: "simulator", Claim: "Sizing against FaaSConf's measurements: " + claim, Bound: bound,
			Measured: measured, Holds: holds,
			Command: "STOKER_DATA=FOLDER go test ./envs/sizing/calibrate -run '^TestLaws$' -v"})
	}
	h := r.Held
	within := func(x, low, high float64) bool { return x >= low && x <= high }
	near := func(q, floor Quartiles) bool {
		return within(q.Median, 0.93, 1.07) && q.Lower >= floor.Lower/1.1 && q.Upper <= floor.Upper*1.1
	}
	say("price of every row", "exact", fmt.Sprintf("off by at most %g USD/h on %d rows", r.All.Price, r.All.Rows),
		r.All.Price == 0)
	say("mean latency end to end, simulated/measured, median (quartiles), held-out rows",
		"median 0.93–1.07, quartiles within 10 % of those of two simulations of a row",
		fmt.Sprintf("%v; fitted rows %v; two simulations %v", h.Latency, r.Fitted.Latency, h.LatencyFloor), near(h.Latency,
			h.LatencyFloor))
	say("p95 latency end to end, held-out rows", "the same",
		fmt.Sprintf("%v; fitted rows %v; two simulations %v", h.P95, r.Fitted.P95, h.P95Floor), near(h.P95, h.P95Floor))
	for _, x := range []struct {
		name string
		of   func(*FunctionComparison) (ratio, floor Quartiles)
	}{
		{"p75", func(f *FunctionComparison) (Quartiles, Quartiles) { return f.P75, f.P75Floor }},
		{"p95", func(f *FunctionComparison) (Quartiles, Quartiles) { return f.P95, f.P95Floor }},
	} {
		holds := true
		var text []string
		for f := range h.Functions {
			ratio, floor := x.of(&h.Functions[f])
			holds = holds && within(ratio.Median, 0.9, 1.1) && ratio.Lower >= floor.Lower/1.1 && ratio.Upper <= floor.Upper*1.1
			text = append(text, fmt.Sprintf("%s %v", h.Functions[f].Function, ratio))
		}
		say(x.name+" of each function, held-out rows", "medians 0.9–1.1, quartiles within 10 % of those of two simulations",
			strings.Join(text, ", "), holds)
	}
	for _, x := range []struct {
		name string
		of   func(*FunctionComparison) (simulated, measured float64)
	}{
		{"replicas", func(f *FunctionComparison) (float64, float64) { return f.Fits[0].C, f.Fits[1].C }},
		{"CPU", func(f *FunctionComparison) (float64, float64) { return f.Fits[0].B, f.Fits[1].B }},
	} {
		worst := 0.0
		var text []string
		for f := range r.All.Functions {
			s, m := x.of(&r.All.Functions[f])
			worst = max(worst, math.Abs(s/m-1))
			text = append(text, fmt.Sprintf("%s %.2f (measured %.2f)", r.All.Functions[f].Function, s, m))
		}
		say("exponent of p75 in "+x.name+", all rows", "within 15 % of the measured",
			strings.Join(text, ", ")+fmt.Sprintf("; at most %.0f %% off", 100*worst), worst <= 0.15)
	}
	say("successes in a window, held-out rows", "means within 1",
		fmt.Sprintf("%.1f, measured %.1f; difference %v", h.MeanSuccesses[0], h.MeanSuccesses[1], h.Successes),
		math.Abs(h.MeanSuccesses[0]-h.MeanSuccesses[1]) <= 1)
	say("failures in a window, held-out rows", "means within 0.5",
		fmt.Sprintf("%.1f, measured %.1f; difference %v", h.MeanFailures[0], h.MeanFailures[1], h.Failures),
		math.Abs(h.MeanFailures[0]-h.MeanFailures[1]) <= 0.5)
	say("feasible share (≤ 13 s, ≥ 20 successes), held-out rows", "within 0.04",
		fmt.Sprintf("%.3f, measured %.3f", h.Feasible[0], h.Feasible[1]),
		math.Abs(h.Feasible[0]-h.Feasible[1]) <= 0.04)
	say("the same verdict on a row, held-out rows", "at most 0.03 rarer than of two simulations",
		fmt.Sprintf("%.3f; two simulations %.3f", h.Agree, h.AgreeFloor),
		h.Agree >= h.AgreeFloor-0.03)
}

// write writes the table, the JSON and the plots into a folder. rows are all rows.
func (r *results) write(t *testing.T, dir string, rows []Measured) {
	t.Helper()
	must.Do(t, os.MkdirAll(dir, 0o755))
	text := must.Get(json.MarshalIndent(r, "", "  "))(t)
	for name, data := range map[string][]byte{"laws.json": append(text, '\n'), "table.md": []byte(r.table())} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	for name, f := range map[string]*chart.Figure{"latency": r.ratios(), "replicas": r.byReplicas(rows)} {
		var b bytes.Buffer
		must.Do(t, f.PNG(&b, 60))
		must.Do(t, os.WriteFile(filepath.Join(dir, name+".png"), b.Bytes(), 0o644))
	}
}

// table returns the comparison as Markdown.
func (r *results) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The sizing environment against FaaSConf's measurements\n\n"+
		"Parallel under 10 users: %d rows that the laws are fitted to and %d held out (blocks of 40 rows by turns), "+
		"each simulated %d times.\nRatios are simulated/measured, median (quartiles). "+
		"The floor is the ratio of two simulations of the same row.\n\n",
		r.Fitted.Rows, r.Held.Rows, r.Held.Times)
	fmt.Fprintf(&b, "| latency | held out | fitted | floor |\n|---|---|---|---|\n")
	line := func(name string, held, fitted, floor Quartiles) {
		fmt.Fprintf(&b, "| %s | %v | %v | %v |\n", name, held, fitted, floor)
	}
	line("end to end, mean", r.Held.Latency, r.Fitted.Latency, r.Held.LatencyFloor)
	line("end to end, p95", r.Held.P95, r.Fitted.P95, r.Held.P95Floor)
	for f, h := range r.Held.Functions {
		line(h.Function+", p75", h.P75, r.Fitted.Functions[f].P75, h.P75Floor)
	}
	for f, h := range r.Held.Functions {
		line(h.Function+", p95", h.P95, r.Fitted.Functions[f].P95, h.P95Floor)
	}
	fmt.Fprintf(&b, "\n| CPU used, which nothing was fitted to | held out | fitted |\n|---|---|---|\n")
	for f, h := range r.Held.Functions {
		fmt.Fprintf(&b, "| %s | %v | %v |\n", h.Function, h.CPU, r.Fitted.Functions[f].CPU)
	}
	fmt.Fprintf(&b, "\n| in a window | held out: simulated | measured | fitted: simulated | measured |\n"+
		"|---|---|---|---|---|\n")
	two := func(name, format string, of func(*Comparison) [2]float64) {
		h, f := of(r.Held), of(r.Fitted)
		fmt.Fprintf(&b, "| %s | "+format+" | "+format+" | "+format+" | "+format+" |\n", name, h[0], h[1], f[0], f[1])
	}
	two("successes", "%.1f", func(c *Comparison) [2]float64 { return c.MeanSuccesses })
	two("failures", "%.1f", func(c *Comparison) [2]float64 { return c.MeanFailures })
	two("feasible share (≤ 13 s, ≥ 20 successes)", "%.3f", func(c *Comparison) [2]float64 { return c.Feasible })
	fmt.Fprintf(&b, "\nThe same verdict on a row: held out %.3f, fitted %.3f; two simulations of a row: %.3f. "+
		"The price is off by at most %g USD/h.\n",
		r.Held.Agree, r.Fitted.Agree, r.Held.AgreeFloor, r.All.Price)
	fmt.Fprintf(&b, "\nln latency = A + B·ln(cpu/1000) + C·ln(replicas) + D·ln(concurrency) with a residual deviation, "+
		"all rows, simulated | measured:\n\n"+
		"| | A | B | C | D | residual |\n|---|---|---|---|---|---|\n")
	for _, f := range r.All.Functions {
		for i, x := range [2][2]Fit{f.Fits, f.Fits95} {
			s, m := x[0], x[1]
			fmt.Fprintf(&b, "| %s, %s | %.2f \\| %.2f | %.2f \\| %.2f | %.2f \\| %.2f | %.2f \\| %.2f | %.2f \\| %.2f |\n",
				f.Function, [2]string{"p75", "p95"}[i],
				s.A, m.A, s.B, m.B, s.C, m.C, s.D, m.D, s.Residual, m.Residual)
		}
	}
	fmt.Fprintf(&b, "\nWhat measurements differ by, and simulations: quartiles of the ratio of p75 between rows that "+
		"give a function the same replicas and concurrency and CPU within 3 %%.\n\n%s", r.noiseTable())
	return b.String()
}

// ratios plots simulated against measured latencies: all windows, and in each tenth of the measured ones the median and
// quartiles.
func (r *results) ratios() *chart.Figure {
	cloud := chart.Style{Colour: color.RGBA{190, 205, 220, 255}, Glyph: chart.Common().Glyph}
	line := chart.Styles(1)
	f := &chart.Figure{
		Title: "Simulated against measured latency in seconds, held-out rows",
		Key: []chart.Entry{
			{Text: "a window", Style: cloud, Dot: true}, {Text: "median and quartiles in a tenth of the rows", Style: line,
				Line: true, Band: true},
			{Text: "equal", Style: chart.Bound(), Line: true},
		},
		Columns: 4, Width: 230, Height: 220,
	}
	add := func(title string, measured, simulated []float64) {
		p := chart.NewPanel(title, "measured", "simulated")
		p.LogX()
		p.LogY()
		lo, hi := slices.Min(measured), slices.Max(measured)
		order := make([]int, len(measured))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return int(math.Copysign(1, measured[a]-measured[b])) })
		var x, y []float64
		for _, i := range order[:len(order)-len(order)%10] {
			if i%r.Held.Times == 0 { // one of each row's simulations
				x, y = append(x, measured[i], math.NaN()), append(y, simulated[i], math.NaN())
			}
		}
		p.Line(cloud, x, y, false)
		var at, middle, lower, upper []float64
		for k := range 10 {
			var m, s []float64
			for _, i := range order[k*len(order)/10 : (k+1)*len(order)/10] {
				m, s = append(m, measured[i]), append(s, simulated[i])
			}
			q := QuartilesOf(s)
			at, middle, lower, upper = append(at, QuartilesOf(m).Median), append(middle, q.Median), append(lower,
				q.Lower), append(upper, q.Upper)
		}
		p.Line(chart.Bound(), []float64{lo, hi}, []float64{lo, hi}, false)
		p.Band(line, at, lower, upper)
		p.Line(line, at, middle, false)
		f.Panels = append(f.Panels, p)
	}
	add("end to end, mean", r.Held.Measured, r.Held.Simulated)
	for _, h := range r.Held.Functions {
		add(h.Function+", p75", h.Measured, h.Simulated)
	}
	return f
}

// byReplicas plots how latency falls with replicas: median and quartiles of p75, measured and simulated, all rows.
func (r *results) byReplicas(rows []Measured) *chart.Figure {
	styles := [2]chart.Style{chart.Styles(0), chart.Styles(1)}
	f := &chart.Figure{
		Title: "p75 of a function's latency in seconds by its replicas: median and quartiles of all rows",
		Key: []chart.Entry{{Text: "measured", Style: styles[0], Line: true, Band: true},
			{Text: "simulated", Style: styles[1], Line: true, Band: true}},
		// Eight replicas need an action of exactly 1 and hardly occur.
		Columns: 3, Width: 260, Height: 200,
	}
	for i, x := range r.All.Functions {
		p := chart.NewPanel(x.Function, "replicas", "")
		p.LogY()
		p.WholeX()
		for k, values := range [2][]float64{x.Measured, x.Simulated} {
			var at, middle, lower, upper []float64
			for replicas := 2; replicas <= 7; replicas++ {
				var some []float64
				for j, v := range values {
					if rows[j/r.All.Times].Functions[i].Replicas == replicas {
						some = append(some, v)
					}
				}
				if len(some) > 0 {
					q := QuartilesOf(some)
					at, middle, lower, upper = append(at, float64(replicas)), append(middle, q.Median), append(lower,
						q.Lower), append(upper, q.Upper)
				}
			}
			p.Band(styles[k], at, lower, upper)
			p.Line(styles[k], at, middle, false)
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}
