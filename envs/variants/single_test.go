package variants

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// One problem of an application whose edges cross has the answer that the fronts have, for every objective.
func TestSingleIsOnTheFronts(t *testing.T) {
	ctx := context.Background()
	asked, none := 0, 0
	for number := uint64(1); asked < 45; number++ {
		m := must.Get(generated(number, 3, 8))(t)
		if !m.crossing() {
			continue
		}
		other := *m
		other.fronts = &fronts{by: map[string][]Plan{}}
		other.fronts.shape.Do(func() {}) // crossing stays false
		low, high := m.AccuracyRange()
		fast := must.Get(other.Solve(ctx, Problem{Objective: Time, Accuracy: low}))(t)
		for i := range 15 {
			p := Problem{Objective: Objectives()[i%3], Accuracy: low + float64(i%4)/3*(high-low)}
			if p.Objective != Time || i%2 == 0 {
				p.Latency = fast.Seconds * (0.9 + 0.4*float64(i%5))
			}
			if p.Objective != Cost || i%4 == 0 {
				p.Budget = fast.USD * (0.3 + 0.25*float64(i%6))
			}
			want, err := other.Solve(ctx, p)
			var w, g *Infeasible
			got, e := m.Solve(ctx, p)
			switch asked++; {
			case errors.As(err, &w) && errors.As(e, &g):
				if none++; len(w.Needs) != len(g.Needs) || len(w.Alone) != len(g.Alone) {
					t.Errorf("application %d, %v: %v, want %v", number, p, e, err)
				}
			case err != nil || e != nil:
				t.Errorf("application %d, %v: %v, %v", number, p, err, e)
			case math.Abs(p.Value(got.Outcome)/p.Value(want.Outcome)-1) > 1e-9, !p.Keeps(got.Outcome):
				t.Errorf("application %d, %v: %v, want %v", number, p, got.Outcome, want.Outcome)
			}
		}
	}
	t.Logf("%d problems, of which %d have no answer", asked, none)
}

// A search that is stopped returns what it has, and what it has proved.
func TestSearchStopped(t *testing.T) {
	var m *Model
	for number := uint64(1); m == nil || !m.crossing(); number++ {
		var err error
		if m, err = generated(number, 9, 12); err != nil {
			t.Fatal(err)
		}
	}
	fast := must.Get(m.Solve(context.Background(), Problem{Objective: Time}))(t)
	done, stop := context.WithCancel(context.Background())
	stop()
	p := Problem{Objective: Cost, Latency: 1.5 * fast.Seconds}
	best := must.Get(m.Solve(context.Background(), p))(t)
	some, err := m.Search(done, p, nil)
	if err != nil || some.USD < best.USD*(1-1e-9) || some.Proved > best.USD*(1+1e-9) || !p.Keeps(some.Outcome) {
		t.Errorf("stopped: %v of bound %v (%v), the optimum is %v", some.USD, some.Proved, err, best.USD)
	}
	if _, err := m.Solve(done, p); !some.Exact && !errors.Is(err, context.Canceled) {
		t.Errorf("Solve says %v", err)
	}
}
