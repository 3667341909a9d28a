package search

import (
	"os"
	"path/filepath"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
)

// Figure draws results window by window, as FaaSConf's Fig. 14: price, latency and successes, with the thresholds. Lines
// are means over the repetitions, bands reach from the least to the greatest.
func Figure(title string, qos sizing.QoS, results ...*Result) *chart.Figure {
	price := chart.NewPanel("Price", "window", "USD/h")
	latency := chart.NewPanel("Mean latency", "window", "s")
	tail := chart.NewPanel("95th percentile of latency", "window", "s")
	successes := chart.NewPanel("Successes", "window", "requests")
	f := &chart.Figure{
		Title: title, Under: "lines: means over the repetitions; bands: the least and the greatest; dashed: thresholds",
		Panels: []*chart.Panel{price, latency, tail, successes}, Columns: 2, Width: 10 * vg.Centimeter, Height: 6 * vg.Centimeter,
	}
	for k, r := range results {
		s := chart.Styles(k)
		f.Key = append(f.Key, chart.Entry{Text: r.Method, Style: s, Line: true, Band: true})
		list := r.Iterations()
		x := make([]float64, len(list))
		for i := range x {
			x[i] = float64(i + 1)
		}
		draw := func(p *chart.Panel, of func(Iteration) (mean, low, high float64)) {
			mean, low, high := make([]float64, len(list)), make([]float64, len(list)), make([]float64, len(list))
			for i, it := range list {
				mean[i], low[i], high[i] = of(it)
			}
			p.WholeX()
			p.Band(s, x, low, high)
			p.Line(s, x, mean, false)
		}
		draw(price, func(i Iteration) (float64, float64, float64) { return i.Price, i.PriceLow, i.PriceHigh })
		draw(latency, func(i Iteration) (float64, float64, float64) { return i.Latency, i.Low, i.High })
		draw(tail, func(i Iteration) (float64, float64, float64) { return i.P95, i.P95Low, i.P95High })
		draw(successes, func(i Iteration) (float64, float64, float64) {
			return i.Successes, i.SuccessesLow, i.SuccessesHigh
		})
	}
	latency.LevelY(qos.Latency)
	if qos.Count > 0 {
		successes.LevelY(float64(qos.Count))
	}
	return f
}

// Save writes results into a folder: search.json, the windows, iterations and methods as CSV, and the figure. It returns
// the names of the files.
func Save(dir, title string, qos sizing.QoS, results ...*Result) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	var out []string
	write := func(name string, text []byte, err error) error {
		if err != nil {
			return err
		}
		out = append(out, name)
		return durable.WriteFile(durable.OS{}, filepath.Join(dir, name), text)
	}
	text, err := table.JSON(results)
	if err := write("search.json", text, err); err != nil {
		return nil, err
	}
	for _, t := range []table.Table{Windows(results...), IterationsTable(results...), Methods(results...)} {
		text, err := t.CSV()
		if err := write(t.Name+".csv", text, err); err != nil {
			return nil, err
		}
	}
	names, err := Figure(title, qos, results...).Save(dir, "iterations")
	return append(out, names...), err
}
