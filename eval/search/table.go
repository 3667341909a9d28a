package search

import (
	"fmt"

	"github.com/stoker-rl/stoker/eval/table"
)

// Windows is a table of every window of some results: those of the searches, and those in which the best was measured
// again.
func Windows(results ...*Result) table.Table {
	t := table.Table{
		Name: "windows", Title: "Every window",
		Columns: []table.Column{
			{Name: "method"}, {Name: "workflow"}, {Name: "users"}, {Name: "repetition"}, {Name: "phase"}, {Name: "window"},
			{Name: "seed"}, {Name: "by"}, {Name: "price", Unit: "USD/h"}, {Name: "latency", Unit: "s"},
			{Name: "latency_p95", Unit: "s"}, {Name: "success", Unit: "share"}, {Name: "successes", Unit: "requests"},
			{Name: "failed", Unit: "requests"}, {Name: "violated"}, {Name: "best"},
		},
	}
	for _, r := range results {
		for i, p := range r.Repetitions {
			add := func(phase string, w Window, best bool) {
				t.Rows = append(t.Rows, []any{r.Method, r.Workflow, r.Users, i + 1, phase, w.Number + 1, w.Seed, w.By, w.Price,
					w.Latency, w.P95, w.Success, w.Successes, w.Failed, one(w.Violated), one(best)})
			}
			for n, w := range p.Windows {
				add("search", w, n == p.Best)
			}
			for _, w := range p.Fresh {
				add("fresh", w, false)
			}
		}
	}
	return t
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// none stands for the answer of a method that found no feasible configuration.
const none = "X"

// Methods is a table with a line for each result: the best as it was seen, and as it was measured again.
func Methods(results ...*Result) table.Table {
	t := table.Table{
		Name: "methods", Title: "The cheapest feasible configuration of each method",
		Note: fmt.Sprintf("%s: no window kept the thresholds. Seen: means over the repetitions that found one. Again: the "+
			"same configurations in fresh windows.", none),
		Columns: []table.Column{
			{Name: "method"}, {Name: "workflow"}, {Name: "users"}, {Name: "found", Unit: "repetitions"},
			{Name: "price", Unit: "USD/h"}, {Name: "latency seen", Unit: "s"}, {Name: "latency again", Unit: "s"},
			{Name: "violated again", Unit: "share of windows"}, {Name: "violated in the search", Unit: "share of windows"},
		},
	}
	for _, r := range results {
		line := []any{r.Method, r.Workflow, r.Users, fmt.Sprintf("%d of %d", r.Found, len(r.Repetitions)), none, none, none,
			none, r.Search.Violated}
		if r.Seen != nil {
			line[4], line[5] = r.Seen.Price, r.Seen.Latency
		}
		if r.Again != nil {
			line[6], line[7] = r.Again.Latency, r.Again.Violated
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}
