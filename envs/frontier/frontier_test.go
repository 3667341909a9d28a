package frontier_test

import (
	"context"
	"testing"

	"github.com/stoker-rl/stoker/envs/frontier"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/internal/must"
)

// Every point of the exact front has one within the gap.
func TestWithinIsWithin(t *testing.T) {
	kept, all := 0, 0
	for seed := range uint64(100) {
		p := generated(t, seed, 1e5)
		exact := must.Get(frontier.Exact(context.Background(), p))(t)
		for _, gap := range []float64{0.001, 0.05} {
			got, err := frontier.Within(context.Background(), p, gap)
			if err == nil {
				err = verify(p, got)
			}
			if err != nil {
				t.Fatalf("app %d: %v", seed, err)
			}
			if missed := covers(got, exact) - 1; missed > gap+1e-9 {
				t.Errorf("app %d: a point is missed by %v, want at most %v", seed, missed, gap)
			}
			kept, all = kept+len(got), all+len(exact)
		}
	}
	t.Logf("%d of %d points", kept, all)
}

// The computed gap is no less than the true one, and no more than 0.05 % above it.
func TestGap(t *testing.T) {
	for seed := range uint64(60) {
		p := generated(t, seed, 3000)
		exact := must.Get(frontier.Exact(context.Background(), p))(t)
		for _, every := range []int{1, 3, 10} { // fronts with ever more points left out
			var some frontier.Front
			for i := 0; i < len(exact); i += every {
				some = append(some, exact[i])
			}
			got := must.Get(frontier.Gap(context.Background(), p, some))(t)
			truth := covers(some, exact) - 1
			if got < truth-1e-9 || got > (1+truth)*(1+5e-4)-1+1e-9 {
				t.Errorf("app %d, every %d: gap %v, the true one is %v", seed, every, got, truth)
			}
		}
	}
}

// A front of 100 functions within 0.3 % is: a bound that does not depend on how it was made says so.
func TestWithinOfMany(t *testing.T) {
	for _, g := range []workflow.Graph{chain(100), shaped(t, workflow.Fan, 100), shaped(t, workflow.Loops, 100)} {
		p := sized(t, g, 19, 1)
		front := must.Get(frontier.Within(context.Background(), p, 0.003))(t)
		gap := must.Get(frontier.Gap(context.Background(), p, front))(t)
		if gap > 0.003 {
			t.Errorf("%s: the gap is up to %v, want 0.003", g.Name, gap)
		}
		t.Logf("%s: %d points, gap at most %.5f", g.Name, len(front), gap)
	}
}

func shaped(t *testing.T, shape workflow.Shape, functions int) workflow.Graph {
	t.Helper()
	g := must.Get(workflow.Generate(workflow.GenerateConfig{Functions: functions, Seed: 1, Shape: shape}))(t)
	return g
}
