package traces

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
)

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
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	data := []struct {
		name string
		rows [][]string
	}{{rateFile, r.rateRows()}, {functionsFile, r.functionRows()}, {dispersionFile, r.dispersionRows()}}
	if r.Stretch != nil {
		data = append(data, struct {
			name string
			rows [][]string
		}{stretchFile, r.Stretch.rows(r.perMinute)})
	}
	for _, f := range data {
		if err := table.WriteFile(dir, f.name, f.rows); err != nil {
			return err
		}
	}
	files, err := r.figure().Save(dir, figureName)
	if err != nil {
		return err
	}
	r.Figures = files
	for _, f := range data {
		r.Figures = append(r.Figures, f.name)
	}
	b, err := table.JSON(r)
	if err != nil {
		return err
	}
	return durable.WriteFile(durable.OS{}, filepath.Join(dir, jsonFile), b)
}

func (r *Report) rateRows() [][]string {
	rows := [][]string{{"minute", "requests", "requests_per_s"}}
	for m, n := range r.perMinute {
		rows = append(rows, []string{strconv.Itoa(m), strconv.FormatUint(n, 10), table.Exact(float64(n) / 60)})
	}
	return rows
}

func (r *Report) functionRows() [][]string {
	rows := [][]string{{"rank", "function", "requests", "share", "share_with_those_before"}}
	var sum uint64
	for i, f := range r.functions {
		sum += f.Total
		rows = append(rows, []string{strconv.Itoa(i + 1), f.Name, strconv.FormatUint(f.Total, 10),
			table.Exact(float64(f.Total) / float64(r.Requests)), table.Exact(float64(sum) / float64(r.Requests))})
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
		rows = append(rows, []string{table.Exact(minutes[i]), table.Exact(index[i])})
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
		key = append(key, chart.Entry{Text: fmt.Sprintf("range within %s", plural(r.block(), "minute")), Style: line, Band: true})
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
