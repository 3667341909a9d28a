package bench

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/internal/chart"
)

// growthLine is one curve of the growth figure: an update's milliseconds and peak memory over the number of agents.
type growthLine struct {
	text            string // in the key
	who, neighbours string // in the table
	batch           int
	agents, ms, mb  []float64 // mb is nil for a peer
}

// growthLines are ours by neighbours and batch, and PyTorch's best form by batch.
func growthLines(rows []Result, peers []Comparison) (lines []growthLine) {
	for _, neighbours := range []string{"sparse", "dense"} {
		for _, batch := range []int{64, 1024} {
			l := growthLine{text: fmt.Sprintf("ours, %s, batch %d", neighbours, batch), neighbours: neighbours,
				batch: batch}
			for _, r := range rows {
				if r.Bench == "attmf" && r.Threads == 2 && r.Batch == batch && r.Neighbours == neighbours {
					l.who = "stoker " + r.Kernels
					l.agents, l.ms = append(l.agents, float64(r.Agents)), append(l.ms, r.Nanoseconds/1e6)
					l.mb = append(l.mb, r.PeakMemory)
				}
			}
			lines = append(lines, l)
		}
	}
	for _, batch := range []int{64, 1024} {
		best := map[int]float64{}
		for _, r := range peers {
			var n, b int
			if _, err := fmt.Sscanf(r.What, "attmf %d agents × %d", &n, &b); err == nil && b == batch &&
				!strings.HasSuffix(r.What, "dense") {
				best[n] = max(best[n], r.PeerValue)
			}
		}
		l := growthLine{text: fmt.Sprintf("PyTorch's best form, batch %d", batch), who: "PyTorch, best form",
			neighbours: "sparse", batch: batch}
		for _, n := range []int{5, 12, 50, 200} {
			if best[n] > 0 {
				l.agents, l.ms = append(l.agents, float64(n)), append(l.ms, 1e3/best[n])
			}
		}
		lines = append(lines, l)
	}
	return slices.DeleteFunc(lines, func(l growthLine) bool { return len(l.agents) == 0 })
}

// growthTable is the figure's data as CSV.
func growthTable(rows []Result, peers []Comparison) string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 5, 64) }
	table := [][]string{{"who", "neighbours", "batch", "agents", "milliseconds", "peak_mb"}}
	for _, l := range growthLines(rows, peers) {
		for i, n := range l.agents {
			mb := ""
			if l.mb != nil {
				mb = number(l.mb[i])
			}
			table = append(table, []string{l.who, l.neighbours, strconv.Itoa(l.batch), number(n), number(l.ms[i]), mb})
		}
	}
	slices.SortStableFunc(table[1:], func(a, b []string) int { return strings.Compare(a[0]+a[1], b[0]+b[1]) })
	var b strings.Builder
	w := csv.NewWriter(&b)
	for _, row := range table {
		if err := w.Write(row); err != nil {
			panic(err) // a strings.Builder takes everything
		}
	}
	w.Flush()
	return b.String()
}

// growthFigure draws milliseconds of an update and peak memory over the number of agents, ours and PyTorch's best form.
func growthFigure(rows []Result, peers []Comparison) *chart.Figure {
	f := &chart.Figure{Title: "One update of attention mean-field MADDPG, two threads", Columns: 2,
		Width: 20 * vg.Centimeter, Height: 9 * vg.Centimeter}
	cost, memory := chart.NewPanel("", "agents", "milliseconds"), chart.NewPanel("", "agents", "peak memory, MB")
	for _, p := range []*chart.Panel{cost, memory} {
		p.LogX()
		p.LogY()
	}
	f.Panels = []*chart.Panel{cost, memory}
	for i, l := range growthLines(rows, peers) {
		s := chart.Styles(i)
		cost.Line(s, l.agents, l.ms, false)
		if l.mb != nil {
			memory.Line(s, l.agents, l.mb, false)
		}
		f.Key = append(f.Key, chart.Entry{Text: l.text, Style: s, Line: true})
	}
	return f
}
