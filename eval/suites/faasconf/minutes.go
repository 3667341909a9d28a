package faasconf

import (
	"fmt"

	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
)

// The three minutes of Fig. 10, counted from the first of the 85 (223 of the evaluation part): configs/faasconf/trace.yaml.
var threeMinutes = []struct {
	name   string
	minute int
}{{"low", 305 - 223}, {"middle", 228 - 223}, {"high", 284 - 223}}

// By how many percent FaaSConf is cheaper and faster in the three minutes, on average (§5.2.2).
var paperMinutes = []struct {
	rival          string
	price, latency float64
}{{firmName, 11.49, 8.26}, {"rambo", 23.11, 18.92}, {"aquatope", 24.86, 16.01}}

// minutes is Fig. 10: price and latency at the low, the middle and the high minute.
func (t *trace) minutes() {
	if n := len(t.games.series(oursName, "price")[0]); n < 170 {
		t.r.Note("Fig. 10 is left out: %d windows were played", n)
		return
	}
	tab := table.Table{
		Name: "fig10-minutes", Title: "Low, middle and high minute of the 85 (Fig. 10)",
		Columns: table.Head("minute", "policy", "price [USD/h]", "latency [s]", "violated [% of windows]"),
		Note:    "means over the minute's two windows, training seeds and workload seeds",
	}
	for k, m := range threeMinutes {
		for _, name := range t.shown {
			tab.Rows = append(tab.Rows, []any{m.name, name, t.point(name, "price", k), t.point(name, "latency", k),
				100 * mean(t.inMinute(name, "violated", k))})
		}
	}
	t.r.Table(tab)
	for _, own := range ours {
		for _, m := range paperMinutes {
			for _, q := range []struct {
				quantity, text string
				paper          float64
			}{{"price", "cheaper", m.price}, {"latency", "faster", m.latency}} {
				t.r.Measured(suite.Row{
					Figure: "10", Quantity: fmt.Sprintf("%s is %s than %s in the three minutes by", own, q.text, m.rival),
					Unit: "%", Paper: new(q.paper), Note: "not at equal violations",
				}, t.inAll(own, m.rival, q.quantity))
			}
		}
	}
}

// inMinute are a policy's means over the k-th minute's windows and training seeds, by workload seed.
func (t *trace) inMinute(name, quantity string, k int) []float64 {
	series := t.games.series(name, quantity)
	out := make([]float64, len(series))
	at := 2 * threeMinutes[k].minute
	for i, s := range series {
		out[i] = (s[at] + s[at+1]) / 2
	}
	return out
}

func (t *trace) point(name, quantity string, k int) table.Estimate {
	return t.r.Estimate(stats.Scores{t.inMinute(name, quantity, k)})
}

// inAll is by how many percent a quantity of a is below b's, the mean over the three minutes, by workload seed.
func (t *trace) inAll(a, b, quantity string) stats.Scores {
	var rows [][]float64
	for k := range threeMinutes {
		x, y := t.inMinute(a, quantity, k), t.inMinute(b, quantity, k)
		row := make([]float64, len(x))
		for i := range x {
			row[i] = 100 * (1 - x[i]/y[i])
		}
		rows = append(rows, row)
	}
	return stats.Scores{meanOver(rows)}
}
