package traces

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/shell"
)

// Text is the report for a terminal.
func Text(r *Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s requests of %s in %s\n", r.Trace, grouped(r.Requests), report.Count(r.Functions, "function"),
		length(r.Minutes))
	if len(r.Missing) > 0 {
		fmt.Fprintf(&b, "missing: %s\n", strings.Join(r.Missing, ", "))
	}
	line, peak := r.spark()
	fmt.Fprintf(&b, "\nrate over time, requests/s by %s, 0 to %s\n%s\n\n", report.Count(r.perColumn(), "minute"), short(peak), line)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "mean rate\t%s requests/s\t\n", short(r.Rate))
	fmt.Fprintf(t, "minutes' rates\t%s · %s · %s · %s\trequests/s: 5th, 50th, 95th and 99th percentile\n", short(r.Rates.P5),
		short(r.Rates.P50), short(r.Rates.P95), short(r.Rates.P99))
	fmt.Fprintf(t, "busiest minute\t%s requests/s\t%s, minute %d: %s requests\n", short(r.Busiest.Rate), r.Busiest.At,
		r.Busiest.Minute, grouped(r.Busiest.Requests))
	for _, m := range r.Bursts {
		fmt.Fprintf(t, "%s\t%s\t%s\n", m.Name, short(m.Value), m.Meaning)
	}
	for _, s := range r.Top {
		of := "the busiest function has"
		if s.Functions > 1 {
			of = fmt.Sprintf("the %d busiest have", s.Functions)
		}
		fmt.Fprintf(t, "%s\t%.1f %%\tof the requests\n", of, 100*s.Share)
	}
	if idle := r.Functions - r.Active; idle > 0 {
		fmt.Fprintf(t, "functions without a request\t%d\t\n", idle)
	}
	t.Flush() // a strings.Builder does not fail
	if r.Scale != nil {
		b.WriteString(r.Scale.text(r.Rate))
	}
	if r.Stretch != nil {
		b.WriteString(r.Stretch.text(r.perMinute))
	}
	return b.String()
}

func (s *Scale) text(rate float64) string {
	out := fmt.Sprintf("\n%s serves about %s %s. The trace as it is (%s requests/s) is a utilisation of %s.\n", s.Env,
		short(s.Serves), s.Unit, short(rate), short(s.Utilisation))
	out += fmt.Sprintf("Utilisation %s, %s %s in the mean, follows from %s %s", short(s.Target), short(s.Mean), s.Unit, s.Key,
		strconv.FormatFloat(s.Value, 'g', -1, 64))
	if s.Above > 0 {
		out += fmt.Sprintf("; %.1f %% of the %ss are then above what is served", 100*s.Above, s.Part)
	}
	out += ":\n\n "
	for _, set := range s.Set {
		out += " --set " + shell.Quote(set)
	}
	return out + "\n"
}

// columns is the width of the sparkline.
const columns = 72

// perColumn is the number of minutes in a column of the sparkline.
func (r *Report) perColumn() int { return max(1, (len(r.perMinute)+columns-1)/columns) }

// columnRates are the mean rates of the sparkline's columns, in requests a second.
func (r *Report) columnRates() []float64 {
	var out []float64
	for from := 0; from < len(r.perMinute); from += r.perColumn() {
		part := r.perMinute[from:min(from+r.perColumn(), len(r.perMinute))]
		var sum uint64
		for _, n := range part {
			sum += n
		}
		out = append(out, float64(sum)/60/float64(len(part)))
	}
	return out
}

// spark draws the rate in one line, from 0 to the highest column, and returns that column's rate.
func (r *Report) spark() (line string, peak float64) {
	levels, rates := []rune("▁▂▃▄▅▆▇█"), r.columnRates()
	for _, x := range rates {
		peak = max(peak, x)
	}
	var b strings.Builder
	for _, x := range rates {
		sign := ' '
		if x > 0 {
			sign = levels[min(len(levels)-1, int(x/peak*float64(len(levels))))]
		}
		b.WriteRune(sign)
	}
	return b.String(), peak
}

// length is a number of minutes as days or hours.
func length(minutes int) string {
	switch {
	case minutes%1440 == 0:
		return report.Count(minutes/1440, "day")
	case minutes >= 120:
		return fmt.Sprintf("%s hours", short(float64(minutes)/60))
	}
	return report.Count(minutes, "minute")
}

// grouped writes a number with commas between thousands.
func grouped(n uint64) string { return report.Round(float64(n), 0) }

// short writes a number with three digits.
func short(x float64) string {
	if x >= 1000 || x == 0 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// Names of the files that Write leaves.
const (
	figureName     = "trace"
	jsonFile       = "trace.json"
	rateFile       = "rate.csv"
	functionsFile  = "functions.csv"
	dispersionFile = "dispersion.csv"
	stretchFile    = "stretch.csv"
)

// most is the number of points of a line: a longer trace is drawn by means and ranges of blocks.
const most = 1440

// Write leaves the report as trace.json in dir, the figure, and its data as CSV beside it.
func Write(dir string, r *Report) error {
	f := report.Into(dir)
	f.Draw(figureName, r.figure())
	r.Figures, _ = f.Files()
	r.Figures = append(r.Figures, rateFile, functionsFile, dispersionFile)
	f.CSV(rateFile, r.rateRows())
	f.CSV(functionsFile, r.functionRows())
	f.CSV(dispersionFile, r.dispersionRows())
	if r.Stretch != nil {
		r.Figures = append(r.Figures, stretchFile)
		f.CSV(stretchFile, r.Stretch.rows(r.perMinute))
	}
	f.JSON(jsonFile, r)
	_, err := f.Files()
	return err
}

func (r *Report) rateRows() [][]string {
	rows := [][]string{{"minute", "requests", "requests_per_s"}}
	for m, n := range r.perMinute {
		rows = append(rows, report.Cells(m, n, float64(n)/60))
	}
	return rows
}

func (r *Report) functionRows() [][]string {
	rows := [][]string{{"rank", "function", "requests", "share", "share_with_those_before"}}
	var sum uint64
	for i, f := range r.functions {
		sum += f.Total
		rows = append(rows, report.Cells(i+1, f.Name, f.Total, float64(f.Total)/float64(r.Requests), float64(sum)/float64(r.Requests)))
	}
	return rows
}

// widths are the windows in minutes over which the dispersion is drawn; a trace needs ten of them.
var widths = []int{1, 2, 5, 10, 20, 30, 60, 120, 240, 480, 1440}

func (r *Report) dispersion() (minutes, index []float64) {
	for _, w := range widths {
		if len(r.perMinute) < 10*w {
			break
		}
		minutes = append(minutes, float64(w))
		index = append(index, workload.Dispersion(r.perMinute, w))
	}
	return minutes, index
}

func (r *Report) dispersionRows() [][]string {
	rows := [][]string{{"window_minutes", "index_of_dispersion"}}
	minutes, index := r.dispersion()
	for i := range minutes {
		rows = append(rows, report.Cells(minutes[i], index[i]))
	}
	return rows
}

// figure draws the rate over time, the share of the busiest functions, and the dispersion of counts by window.
func (r *Report) figure() *chart.Figure {
	line, flat := chart.Styles(0), chart.Styles(1)
	over := chart.NewPanel("Rate over time", "time (h)", "requests/s")
	hours, mean, low, high := r.blocks()
	if len(r.perMinute) > most {
		over.Band(line, hours, low, high)
	}
	over.Line(line, hours, mean, false)
	over.Line(flat, []float64{0, float64(r.Minutes) / 60}, []float64{r.Rate, r.Rate}, false)
	over.RangeY(0, 0)

	share := chart.NewPanel("The busiest functions", "functions, the busiest first", "share of requests")
	share.LogX()
	var rank, sum []float64
	var requests uint64
	for i, f := range r.functions {
		requests += f.Total
		rank, sum = append(rank, float64(i+1)), append(sum, float64(requests)/float64(r.Requests))
	}
	share.Line(line, rank, sum, false)
	share.RangeY(0, 1)

	burst := chart.NewPanel("Index of dispersion: variance over mean", "window (min)", "")
	burst.LogX()
	burst.LogY()
	minutes, index := r.dispersion()
	burst.Line(line, minutes, index, false)
	if n := len(minutes); n > 0 {
		burst.Line(chart.Styles(2), []float64{1, minutes[n-1]}, []float64{1, 1}, false)
	}
	key := []chart.Entry{{Text: "trace", Style: line, Line: true}}
	if len(r.perMinute) > most {
		key = append(key, chart.Entry{Text: fmt.Sprintf("range within %s", report.Count(r.block(), "minute")), Style: line, Band: true})
	}
	key = append(key, chart.Entry{Text: fmt.Sprintf("mean, %s requests/s", short(r.Rate)), Style: flat, Line: true},
		chart.Entry{Text: "Poisson process", Style: chart.Styles(2), Line: true})
	panels, columns := []*chart.Panel{over, share, burst}, 3
	if r.Stretch != nil {
		marks := chart.Styles(3)
		panels, columns = append(panels, r.Stretch.panel(r.perMinute, line, marks)), 2
		key = append(key, chart.Entry{Text: "low, middle and high minute", Style: marks, Dot: true})
	}
	return &chart.Figure{
		Title: fmt.Sprintf("%s: %d functions, %s requests in %s", r.Trace, r.Functions, grouped(r.Requests), length(r.Minutes)),
		Key:   key, Panels: panels, Columns: columns, Width: 260 * vg.Points(1), Height: 200 * vg.Points(1),
	}
}

// block is the number of minutes that make a point of the line.
func (r *Report) block() int { return (len(r.perMinute) + most - 1) / most }

// blocks are the points of the line: the middle of each block in hours, and the mean and range of its minutes' rates.
func (r *Report) blocks() (hours, mean, low, high []float64) {
	size := r.block()
	for from := 0; from < len(r.perMinute); from += size {
		part := r.perMinute[from:min(from+size, len(r.perMinute))]
		var sum float64
		least, largest := math.Inf(1), 0.0
		for _, n := range part {
			x := float64(n) / 60
			sum += x
			least, largest = min(least, x), max(largest, x)
		}
		hours = append(hours, (float64(from)+float64(len(part))/2)/60)
		mean, low, high = append(mean, sum/float64(len(part))), append(low, least), append(high, largest)
	}
	return hours, mean, low, high
}
