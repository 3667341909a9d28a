package search

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/agents/online"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
)

// Window is what one window gave.
type Window struct {
	// Number counts from 0, among the windows of the search or the fresh ones.
	Number int `json:"window"`
	// Seed is that of a fresh window's episode, or of the repetition's.
	Seed uint64 `json:"seed"`
	// By says who decided, where the method tells: "policy" or "safe".
	By string `json:"by,omitempty"`
	// Price is in USD/h, Latency (the mean) and P95 in seconds. Success is the share of successes among the requests that
	// ended.
	Price     float64 `json:"price"`
	Latency   float64 `json:"latency"`
	P95       float64 `json:"latency_p95"`
	Success   float64 `json:"success"`
	Successes float64 `json:"successes"`
	Failed    float64 `json:"failed"`
	Violated  bool    `json:"violated"`
}

// Repetition is one search.
type Repetition struct {
	Seed    uint64   `json:"seed"`
	Warm    int      `json:"warm"`
	Windows []Window `json:"windows"`
	// Best is the number of the window with the cheapest configuration that kept the thresholds, −1 where none did (X).
	// Action is that configuration.
	Best   int       `json:"best"`
	Action []float32 `json:"action,omitempty"`
	// Fresh are the windows in which it was measured again.
	Fresh []Window `json:"fresh,omitempty"`
}

// Result is what a method did under a protocol.
type Result struct {
	Method   string   `json:"method"`
	Env      string   `json:"env"`
	Workflow string   `json:"workflow"`
	Users    int      `json:"users"`
	Protocol Protocol `json:"protocol"`

	Repetitions []Repetition `json:"repetitions"`
	// Found is the number of repetitions with a feasible window.
	Found int `json:"found"`
	// Seen is the best as the search saw it, Again as the fresh windows did: means over the repetitions that found one,
	// nil where none did. Search is the mean over all windows of all searches.
	Seen   *Mean `json:"seen"`
	Again  *Mean `json:"again"`
	Search Mean  `json:"search"`
	// Seconds is the time that a proposal took on average. It is no part of files, which are the same on every machine.
	Seconds float64 `json:"-"`
}

// Mean is a mean over windows.
type Mean struct {
	Windows int     `json:"windows"`
	Price   float64 `json:"price"`
	Latency float64 `json:"latency"`
	P95     float64 `json:"latency_p95"`
	Success float64 `json:"success"`
	// Successes is the mean number of requests that succeeded in a window, Violated the share of windows that missed the
	// thresholds.
	Successes float64 `json:"successes"`
	Violated  float64 `json:"violated"`
}

// meanOf is the mean over windows, nil over none.
func meanOf(windows []Window) *Mean {
	if len(windows) == 0 {
		return nil
	}
	m, n := Mean{Windows: len(windows)}, float64(len(windows))
	for _, w := range windows {
		m.Price += w.Price / n
		m.Latency += w.Latency / n
		m.P95 += w.P95 / n
		m.Success += w.Success / n
		m.Successes += w.Successes / n
		if w.Violated {
			m.Violated += 1 / n
		}
	}
	return &m
}

// conclude fills the means.
func (r *Result) conclude() {
	var all, seen, again []Window
	for i := range r.Repetitions {
		p := &r.Repetitions[i]
		all, again = append(all, p.Windows...), append(again, p.Fresh...)
		if p.Best >= 0 {
			r.Found++
			seen = append(seen, p.Windows[p.Best])
		}
	}
	r.Seen, r.Again, r.Search = meanOf(seen), meanOf(again), *meanOf(all)
}

// BestSoFar returns, for each number of windows, the price of the cheapest feasible configuration up to then, and the
// share of repetitions that have one: the mean over those; NaN where none has.
func (r *Result) BestSoFar() (price, found []float64) {
	n := r.Protocol.Windows
	price, found = make([]float64, n), make([]float64, n)
	for w := range n {
		var sum, count float64
		for i := range r.Repetitions {
			best := math.Inf(1)
			for _, x := range r.Repetitions[i].Windows[:w+1] {
				if !x.Violated {
					best = min(best, x.Price)
				}
			}
			if !math.IsInf(best, 1) {
				sum, count = sum+best, count+1
			}
		}
		price[w], found[w] = math.NaN(), count/float64(len(r.Repetitions))
		if count > 0 {
			price[w] = sum / count
		}
	}
	return price, found
}

// Iteration is what the repetitions of a search did in one window: means, the least and the greatest of price and
// latency, and how many of them missed the thresholds and were decided by safe exploration.
type Iteration struct {
	Price, P95, Latency, Successes report.Estimate
	Failed                         float64
	Violated, Safe                 int
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
				of *report.Estimate
				x  float64
			}{{&i.Price, x.Price}, {&i.P95, x.P95}, {&i.Latency, x.Latency}, {&i.Successes, x.Successes}} {
				m.of.At += m.x / n
				if k == 0 || m.x < m.of.Low {
					m.of.Low = m.x
				}
				if k == 0 || m.x > m.of.High {
					m.of.High = m.x
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
func IterationsTable(results ...*Result) report.Table {
	t := report.Table{
		Name: "iterations", Title: "Window by window, means over the repetitions",
		Columns: report.Head("method", "window", "price [USD/h]", "latency [s]", "latency_p95 [s]", "successes [requests]",
			"failed [requests]", "violated [repetitions]", "safe [repetitions]", "repetitions"),
	}
	for _, r := range results {
		for w, i := range r.Iterations() {
			t.Rows = append(t.Rows, []any{r.Method, w + 1, i.Price.At, i.Latency.At, i.P95.At, i.Successes.At, i.Failed, i.Violated, i.Safe,
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
		rows = append(rows, []string{fmt.Sprint(w + 1), fmt.Sprintf("%.3f", i.Price.At), fmt.Sprintf("%.2f", i.Latency.At),
			fmt.Sprintf("%.2f", i.P95.At), fmt.Sprintf("%.1f", i.Successes.At), qos, by})
	}
	text := report.Columns(rows, true) + "\n"
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
	return report.Columns(rows, true)
}

// Windows is a table of every window of some results: those of the searches, and those in which the best was measured
// again.
func Windows(results ...*Result) report.Table {
	t := report.Table{
		Name: "windows", Title: "Every window",
		Columns: report.Head("method", "workflow", "users", "repetition", "phase", "window", "seed", "by", "price [USD/h]",
			"latency [s]", "latency_p95 [s]", "success [share]", "successes [requests]", "failed [requests]", "violated",
			"best"),
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
func Methods(results ...*Result) report.Table {
	t := report.Table{
		Name: "methods", Title: "The cheapest feasible configuration of each method",
		Note: fmt.Sprintf("%s: no window kept the thresholds. Seen: means over the repetitions that found one. Again: the "+
			"same configurations in fresh windows.", none),
		Columns: report.Head("method", "workflow", "users", "found [repetitions]", "price [USD/h]", "latency seen [s]",
			"latency again [s]", "violated again [share of windows]", "violated in the search [share of windows]"),
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
		draw := func(p *chart.Panel, of func(Iteration) report.Estimate) {
			e := lists.From(list, of)
			p.WholeX()
			report.Line(p, s, report.Places(len(list)), e)
		}
		draw(price, func(i Iteration) report.Estimate { return i.Price })
		draw(latency, func(i Iteration) report.Estimate { return i.Latency })
		draw(tail, func(i Iteration) report.Estimate { return i.P95 })
		draw(successes, func(i Iteration) report.Estimate { return i.Successes })
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
	f := report.Into(dir)
	f.JSON("search.json", results)
	for _, t := range []report.Table{Windows(results...), IterationsTable(results...), Methods(results...)} {
		text, err := t.CSV()
		f.Write(t.Name+".csv", text, err)
	}
	f.Draw("iterations", Figure(title, qos, results...))
	return f.Files()
}
