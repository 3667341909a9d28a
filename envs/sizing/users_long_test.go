package sizing

import (
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/proof"
)

var long = flag.Bool("long", false, "run the long proofs")

// userLevels are FaaSConf's numbers of closed-loop users.
var userLevels = []float64{10, 15, 20, 25, 30}

// searched is the cheapest configuration of a workflow under a number of users and one of the tables of thresholds.
type searched struct {
	workflow, table string
	users           int
	Cheapest
}

// The cheapest configuration that keeps the rising thresholds costs more the more users there are, in all four
// workflows, with every refusal counted. With -long also under the published thresholds, where it need not.
func TestUsersCost(t *testing.T) {
	names, tables, levels, trials := []string{Parallel}, []string{RisingQoS}, []float64{10, 30}, 300
	if *long {
		names, tables, levels, trials = workflows[:4], []string{QuantilesQoS, RisingQoS}, userLevels, 4000
	}
	var all []*searched
	for _, table := range tables {
		for _, name := range names {
			for _, n := range levels {
				all = append(all, &searched{workflow: name, table: table, users: int(n)})
			}
		}
	}
	var wait sync.WaitGroup
	next := make(chan *searched)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for s := range next {
				c := DefaultCounted()
				if s.table == QuantilesQoS {
					c = Default()
				}
				c.Workflow = s.workflow
				found, err := c.Cheapest(closed(s.users).Users, trials)
				if err != nil {
					t.Error(err)
				}
				s.Cheapest = found
				t.Logf("searched: %s %s %d users: %.3f USD/h, %d trials", s.table, s.workflow, s.users, s.Price, s.Trials)
			}
		})
	}
	for _, s := range slices.Backward(all) { // the slowest first: TcktApp under the rising thresholds
		next <- s
	}
	close(next)
	wait.Wait()
	for _, s := range all {
		proof.Log(t, "%s %s %d users: %.3f USD/h for %.4g s and %d successes: violated %.3f, %.2f s, %.1f successes, %.3f",
			s.table, s.workflow, s.users, s.Price, s.QoS.Latency, s.QoS.Count, s.Violated, s.Latency, s.Successes, s.Success)
	}
	for i := 0; i < len(all); i += len(levels) {
		s := all[i : i+len(levels)]
		if s[0].table != RisingQoS {
			continue
		}
		measured, rising := "", true
		for k, x := range s {
			if k > 0 {
				measured += ", "
				rising = rising && x.Price > s[k-1].Price
			}
			measured += fmt.Sprintf("%.2f", x.Price)
			rising = rising && x.Price > 0
		}
		proof.Claim(t, proof.Row{
			Topic: "environments", Claim: fmt.Sprintf("Sizing-v3, %s: the cheapest feasible price rises from %d to %d users",
				s[0].workflow, s[0].users, s[len(s)-1].users),
			Bound: "each above the last", Measured: measured + " USD/h", Holds: rising,
		})
	}
	if dir := os.Getenv(proof.Folder); dir != "" {
		keepUsers(t, dir, all)
	}
}

// keepUsers writes the table, and under -long the plot.
func keepUsers(t *testing.T, dir string, all []*searched) {
	t.Helper()
	file, err := os.Create(filepath.Join(dir, "users.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := csv.NewWriter(file)
	rows := [][]string{{"thresholds", "workflow", "users", "latency_at_most_s", "successes_at_least", "success_at_least",
		"price_usd_per_hour", "violated", "latency_s", "successes", "success", "trials"}}
	for _, s := range all {
		rows = append(rows, []string{s.table, s.workflow, fmt.Sprint(s.users), fmt.Sprintf("%g", s.QoS.Latency),
			fmt.Sprint(s.QoS.Count), fmt.Sprintf("%g", s.QoS.Success), fmt.Sprintf("%.4f", s.Price),
			fmt.Sprintf("%.4f", s.Violated), fmt.Sprintf("%.3f", s.Latency), fmt.Sprintf("%.2f", s.Successes),
			fmt.Sprintf("%.4f", s.Success), fmt.Sprint(s.Trials)})
	}
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	if !*long {
		return
	}
	f := &chart.Figure{Title: "Cheapest configuration that keeps the thresholds in nine of ten windows, as a search finds it",
		Columns: 2, Width: 330, Height: 220}
	for i, title := range []string{"v3: rising thresholds, refusals counted", "v2: thresholds at quantiles, as published"} {
		p := chart.NewPanel(title, "closed-loop users", "price (USD/h)")
		for k, name := range workflows[:4] {
			style := chart.Styles(k)
			if i == 0 {
				f.Key = append(f.Key, chart.Entry{Text: name, Style: style, Line: true, Dot: true})
			}
			var x, y []float64
			for _, s := range all {
				if s.workflow == name && s.table == []string{RisingQoS, QuantilesQoS}[i] && s.Price > 0 {
					x, y = append(x, float64(s.users)), append(y, s.Price)
					p.Cross(style, chart.Range{At: float64(s.users), Low: float64(s.users), High: float64(s.users)},
						chart.Range{At: s.Price, Low: s.Price, High: s.Price})
				}
			}
			p.Line(style, x, y, false)
		}
		f.Panels = append(f.Panels, p)
	}
	if _, err := f.Save(dir, "users"); err != nil {
		t.Error(err)
	}
}
