package published

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	rules "github.com/stoker-rl/stoker/agents/baselines/variants"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/realdata"
	"github.com/stoker-rl/stoker/tools/proof"
)

// All points of PRCP's curves come out: response time, cost, configuration and iterations.
func TestCurves(t *testing.T) {
	slapp := filepath.Join(realdata.Dir(t), "slapp")
	models := must.Get(Models(slapp))(t)
	curves := must.Get(Curves(context.Background(), slapp, models))(t)
	ideal := map[variants.Objective][]float64{variants.Time: {100, 99.98, 99.74, 99.15}, variants.Cost: {100, 99.93, 99.73,
		99.70}}
	points, different, next := 0, 0, map[variants.Objective]int{}
	var of []string
	for _, c := range curves {
		points, different = points+c.Points, different+c.Different
		if c.Different > 0 {
			t.Errorf("%s, %s: %d of %d points differ, first %s", c.App, c.Objective, c.Different, c.Points, c.First)
		}
		want := ideal[c.Objective][next[c.Objective]]
		next[c.Objective]++
		of = append(of, fmt.Sprintf("%s least %s %.2f %%", c.App, c.Objective, c.OfIdeal))
		if c.OfIdeal < want-0.005 || c.OfIdeal > want+0.005 {
			t.Errorf("%s, %s: the best of four is at %.4f %% of the ideal, want %.2f", c.App, c.Objective, c.OfIdeal, want)
		}
	}
	if points != 3200 {
		t.Errorf("%d points compared, want 3,200", points)
	}
	claim(t, "all points of the curves of App1 to App4, both directions, four strategies: time, cost, configuration, iterations",
		"3,200 points equal", fmt.Sprintf("%d of %d differ", different, points), different == 0 && points == 3200)
	claim(t, "best of four strategies beside the exact optimum, mean over 100 constraints",
		"100, 99.98, 99.74, 99.15 % (least time), 100, 99.93, 99.73, 99.70 % (least cost), to the digit printed",
		strings.Join(of, ", "), !t.Failed())
}

func claim(t *testing.T, text, bound, measured string, holds bool) {
	t.Helper()
	proof.Claim(t, proof.Row{Topic: "environments", Claim: "PRCP's published results: " + text, Bound: bound,
		Measured: measured, Holds: holds})
}

// Every configuration of App2 and App3 costs and takes what was published.
func TestTables(t *testing.T) {
	slapp := filepath.Join(realdata.Dir(t), "slapp")
	models := must.Get(Models(slapp))(t)
	all, differ := 0, 0
	for i, want := range map[int]int{1: 256, 2: 4096} {
		rows, different, err := Table(slapp, models[i])
		if err != nil || rows != want {
			t.Errorf("%s: %d rows, want %d: %v", models[i].App.Name, rows, want, err)
		}
		all, differ = all+rows, differ+different
	}
	claim(t, "cost and response time of every configuration of App2 and App3", "4,352 rows equal",
		fmt.Sprintf("%d of %d differ", differ, all), differ == 0)
}

// A problem of PRCP's App4 and App6 by each strategy, half-way between the least and the greatest budget.
func BenchmarkPRCP(b *testing.B) {
	f := open(b, realdata.Dir(b), "slapp", "function_profiles.csv")
	profile := must.Get(ReadProfile(f))(b)
	for _, number := range []int{4, 6} {
		app := must.Get(SLApp(number, profile))(b)
		m := compile(b, app)
		last := make([]int, m.NumFunctions())
		first := m.Evaluate(last).USD
		for f := range last {
			last[f] = len(m.Options[f]) - 1
		}
		p := variants.Problem{Objective: variants.Time, Budget: (first + m.Evaluate(last).USD) / 2}
		l, o := rules.NewPlanner(m), rules.Published()
		o.Threshold = Threshold
		b.Run(app.Name, func(b *testing.B) {
			for b.Loop() {
				for _, o.Strategy = range rules.Strategies()[:4] {
					must.Get(l.Solve(p, o))(b)
				}
			}
		})
	}
}
