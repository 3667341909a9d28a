package search

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/online"
	"github.com/stoker-rl/stoker/eval/table"
)

// Iteration is what the repetitions of a search did in one window: means, the least and the greatest of price and
// latency, and how many of them missed the thresholds and were decided by safe exploration.
type Iteration struct {
	Price, P95, Latency, Successes, Failed          float64
	PriceLow, PriceHigh, P95Low, P95High, Low, High float64 // the last two of Latency
	SuccessesLow, SuccessesHigh                     float64
	Violated, Safe                                  int
}

// Iterations sums a result up window by window.
func (r *Result) Iterations() []Iteration {
	out := make([]Iteration, r.Protocol.Windows)
	n := float64(len(r.Repetitions))
	for w := range out {
		i := &out[w]
		for k, rep := range r.Repetitions {
			x := rep.Windows[w]
			for _, m := range []struct {
				mean, low, high *float64
				x               float64
			}{
				{&i.Price, &i.PriceLow, &i.PriceHigh, x.Price}, {&i.P95, &i.P95Low, &i.P95High, x.P95},
				{&i.Latency, &i.Low, &i.High, x.Latency},
				{&i.Successes, &i.SuccessesLow, &i.SuccessesHigh, x.Successes},
			} {
				*m.mean += m.x / n
				if k == 0 || m.x < *m.low {
					*m.low = m.x
				}
				if k == 0 || m.x > *m.high {
					*m.high = m.x
				}
			}
			i.Failed += x.Failed / n
			if x.Violated {
				i.Violated++
			}
			if x.By == online.BySafe {
				i.Safe++
			}
		}
	}
	return out
}

// IterationsTable is [Result.Iterations] of some results as a table.
func IterationsTable(results ...*Result) table.Table {
	t := table.Table{
		Name: "iterations", Title: "Window by window, means over the repetitions",
		Columns: []table.Column{
			{Name: "method"}, {Name: "window"}, {Name: "price", Unit: "USD/h"}, {Name: "latency", Unit: "s"},
			{Name: "latency_p95", Unit: "s"}, {Name: "successes", Unit: "requests"}, {Name: "failed", Unit: "requests"},
			{Name: "violated", Unit: "repetitions"}, {Name: "safe", Unit: "repetitions"}, {Name: "repetitions"},
		},
	}
	for _, r := range results {
		for w, i := range r.Iterations() {
			t.Rows = append(t.Rows, []any{r.Method, w + 1, i.Price, i.Latency, i.P95, i.Successes, i.Failed, i.Violated, i.Safe,
				len(r.Repetitions)})
		}
	}
	return t
}

// Text is a result for a terminal: every window, the best as it was seen and as it was measured again.
func Text(r *Result) string {
	reps := len(r.Repetitions)
	rows := [][]string{{"window", "price, USD/h", "latency, s", "p95, s", "successes", "QoS", "decided by"}}
	for w, i := range r.Iterations() {
		qos, by := "kept", ""
		switch {
		case reps > 1 && i.Violated > 0:
			qos = fmt.Sprintf("violated in %d of %d", i.Violated, reps)
		case i.Violated > 0:
			qos = "violated"
		}
		switch {
		case r.Repetitions[0].Windows[w].By == "":
		case i.Safe == 0:
			by = online.ByPolicy
		case i.Safe == reps:
			by = online.BySafe
		default:
			by = fmt.Sprintf("safe in %d of %d", i.Safe, reps)
		}
		rows = append(rows, []string{fmt.Sprint(w + 1), fmt.Sprintf("%.3f", i.Price), fmt.Sprintf("%.2f", i.Latency),
			fmt.Sprintf("%.2f", i.P95), fmt.Sprintf("%.1f", i.Successes), qos, by})
	}
	text := table.Columns(rows, true) + "\n"
	text += fmt.Sprintf("%.0f %% of the search's %d windows missed the thresholds.\n", 100*r.Search.Violated, r.Search.Windows)
	switch {
	case r.Found == 0:
		text += fmt.Sprintf("No window of %d repetitions kept the thresholds: there is no answer (X).\n", reps)
	case r.Again == nil:
		text += fmt.Sprintf("Cheapest feasible: %.3f USD/h, latency %.2f s as seen (%d of %d repetitions found one).\n",
			r.Seen.Price, r.Seen.Latency, r.Found, reps)
	default:
		text += fmt.Sprintf("Cheapest feasible: %.3f USD/h (%d of %d repetitions found one). Its latency as seen is %.2f s; in "+
			"%d fresh windows it is %.2f s, and %.0f %% of them miss the thresholds.\n", r.Seen.Price, r.Found, reps,
			r.Seen.Latency, r.Again.Windows, r.Again.Latency, 100*r.Again.Violated)
	}
	return text
}

// Comparison is a line for each result, for a terminal.
func Comparison(results ...*Result) string {
	rows := [][]string{{"method", "found", "price, USD/h", "latency seen, s", "again, s", "violated again", "violated in search",
		"ms a decision"}}
	for _, r := range results {
		line := []string{r.Method, fmt.Sprintf("%d of %d", r.Found, len(r.Repetitions)), none, none, none, none,
			fmt.Sprintf("%.0f %%", 100*r.Search.Violated), fmt.Sprintf("%.3g", 1000*r.Seconds)}
		if r.Seen != nil {
			line[2], line[3] = fmt.Sprintf("%.3f", r.Seen.Price), fmt.Sprintf("%.2f", r.Seen.Latency)
		}
		if r.Again != nil {
			line[4], line[5] = fmt.Sprintf("%.2f", r.Again.Latency), fmt.Sprintf("%.0f %%", 100*r.Again.Violated)
		}
		rows = append(rows, line)
	}
	return table.Columns(rows, true)
}
