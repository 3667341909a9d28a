package sizing

import (
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

var (
	long     = flag.Bool("long", false, "run the long proofs")
	searches = flag.String("searches", "", "a file of searches, which are not made again; new ones are added")
	these    = flag.String("search", "", "make these searches alone, as in 'tcktapp 30,branch 10', and claim nothing")
)

// userLevels are FaaSConf's numbers of closed-loop users.
var userLevels = []float64{10, 15, 20, 25, 30}

// searched is the cheapest configuration of a workflow under a number of users.
type searched struct {
	Workflow string `json:"workflow"`
	Users    int    `json:"users"`
	Cheapest
}

// The cheapest configuration that keeps the rising thresholds costs more the more users there are, in all four
// workflows, with every refusal counted.
func TestUsersCost(t *testing.T) {
	names, levels, trials := []string{Parallel}, []float64{10, 30}, 40
	if os.Getenv(proof.Folder) != "" {
		trials = 300 // a digest is kept of what these find
	}
	if *long {
		names, levels, trials = workflows[:4], userLevels, 4000
	}
	var all []*searched
	for _, name := range names {
		for _, n := range levels {
			all = append(all, &searched{Workflow: name, Users: int(n)})
		}
	}
	todo := all
	if *these != "" {
		todo = slices.DeleteFunc(slices.Clone(all), func(s *searched) bool {
			return !slices.Contains(strings.Split(*these, ","), s.name())
		})
	}
	todo = recall(t, todo)
	var wait sync.WaitGroup
	next := make(chan *searched)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for s := range next {
				c := DefaultCounted()
				c.Workflow = s.Workflow
				found, err := c.Cheapest(closed(s.Users).Users, trials)
				if err != nil {
					t.Error(err)
				}
				s.Cheapest = found
				s.remember(t)
				t.Logf("searched: %s, %d users: %.3f USD/h, %d trials", s.Workflow, s.Users, s.Price, s.Trials)
			}
		})
	}
	for _, s := range slices.Backward(todo) { // the slowest first: TcktApp
		next <- s
	}
	close(next)
	if wait.Wait(); *these != "" {
		return
	}
	for _, s := range all {
		proof.Log(t, "%s, %d users: %.3f USD/h for %.4g s and %d successes: violated %.3f, %.2f s, %.1f successes, %.3f",
			s.Workflow, s.Users, s.Price, s.QoS.Latency, s.QoS.Count, s.Violated, s.Latency, s.Successes, s.Success)
	}
	for i := 0; i < len(all); i += len(levels) {
		s := all[i : i+len(levels)]
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
				s[0].Workflow, s[0].Users, s[len(s)-1].Users),
			Bound: "each above the last", Measured: measured + " USD/h", Holds: rising,
		})
	}
	if dir := os.Getenv(proof.Folder); dir != "" {
		keepUsers(t, dir, all)
	}
}

func (s *searched) name() string { return fmt.Sprintf("%s %d", s.Workflow, s.Users) }

// recall fills in the searches that the file of searches has, and returns the others.
func recall(t *testing.T, all []*searched) (todo []*searched) {
	t.Helper()
	if *searches == "" {
		return all
	}
	b, err := os.ReadFile(*searches)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	done := map[string]Cheapest{}
	for line := range strings.Lines(string(b)) {
		var s searched
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("%s: %v", *searches, err)
		}
		done[s.name()] = s.Cheapest
	}
	for _, s := range all {
		if found, ok := done[s.name()]; ok {
			s.Cheapest = found
			continue
		}
		todo = append(todo, s)
	}
	return todo
}

// remember adds a search to the file of searches.
func (s *searched) remember(t *testing.T) {
	if *searches == "" {
		return
	}
	line, err := json.Marshal(s)
	if err != nil {
		t.Error(err)
		return
	}
	f, err := os.OpenFile(*searches, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Error(err)
		return
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// keepUsers writes the table, and under -long the plot.
func keepUsers(t *testing.T, dir string, all []*searched) {
	t.Helper()
	file := must.Get(os.Create(filepath.Join(dir, "users.csv")))(t)
	defer file.Close()
	w := csv.NewWriter(file)
	rows := [][]string{{"workflow", "users", "latency_at_most_s", "successes_at_least", "success_at_least",
		"price_usd_per_hour", "configurations_tried"}}
	for _, s := range all {
		rows = append(rows, []string{s.Workflow, fmt.Sprint(s.Users), fmt.Sprintf("%g", s.QoS.Latency),
			fmt.Sprint(s.QoS.Count), fmt.Sprintf("%g", s.QoS.Success), fmt.Sprintf("%.3f", s.Price), fmt.Sprint(s.Trials)})
	}
	must.Do(t, w.WriteAll(rows))
	if !*long {
		return
	}
	f := &chart.Figure{Title: "Cheapest configuration that keeps the rising thresholds, as a search finds it", Columns: 1,
		Under: "Sizing-v3, refusals counted, nine of ten windows", Width: 420, Height: 260}
	p := chart.NewPanel("", "closed-loop users", "price (USD/h)")
	for k, name := range workflows[:4] {
		style := chart.Styles(k)
		f.Key = append(f.Key, chart.Entry{Text: name, Style: style, Line: true, Dot: true})
		var x, y []float64
		for _, s := range all {
			if s.Workflow == name && s.Price > 0 {
				x, y = append(x, float64(s.Users)), append(y, s.Price)
				p.Cross(style, chart.Exactly(float64(s.Users)), chart.Exactly(s.Price))
			}
		}
		p.Line(style, x, y, false)
	}
	f.Panels = append(f.Panels, p)
	if _, err := f.Save(dir, "users"); err != nil {
		t.Error(err)
	}
}
