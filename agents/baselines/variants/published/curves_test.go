package published

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/internal/realdata"
)

// All points of PRCP's curves come out: response time, cost, configuration and iterations.
func TestCurves(t *testing.T) {
	slapp := filepath.Join(realdata.Dir(t), "slapp")
	models, err := Models(slapp)
	if err != nil {
		t.Fatal(err)
	}
	curves, err := Curves(context.Background(), slapp, models)
	if err != nil {
		t.Fatal(err)
	}
	ideal := map[variants.Objective][]float64{variants.Time: {100, 99.98, 99.74, 99.15}, variants.Cost: {100, 99.93, 99.73,
		99.70}}
	points, next := 0, map[variants.Objective]int{}
	for _, c := range curves {
		points += c.Points
		if c.Different > 0 {
			t.Errorf("%s, %s: %d of %d points differ, first %s", c.App, c.Objective, c.Different, c.Points, c.First)
		}
		want := ideal[c.Objective][next[c.Objective]]
		next[c.Objective]++
		if c.OfIdeal < want-0.005 || c.OfIdeal > want+0.005 {
			t.Errorf("%s, %s: the best of four is at %.4f %% of the ideal, want %.2f", c.App, c.Objective, c.OfIdeal, want)
		}
	}
	if points != 3200 {
		t.Errorf("%d points compared, want 3,200", points)
	}
}

// Every configuration of App2 and App3 costs and takes what was published.
func TestTables(t *testing.T) {
	slapp := filepath.Join(realdata.Dir(t), "slapp")
	models, err := Models(slapp)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]int{1: 256, 2: 4096} {
		rows, different, err := Table(slapp, models[i])
		if err != nil || rows != want || different != 0 {
			t.Errorf("%s: %d of %d rows differ, want 0 of %d: %v", models[i].App.Name, different, rows, want, err)
		}
	}
}
