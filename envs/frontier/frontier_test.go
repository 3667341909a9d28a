package frontier_test

import (
	"context"
	"testing"

	"github.com/stoker-rl/stoker/envs/frontier"
)

// Every point of the exact front has one within the gap.
func TestWithinIsWithin(t *testing.T) {
	kept, all := 0, 0
	for seed := range uint64(100) {
		p := generated(t, seed, 1e5)
		exact, err := frontier.Exact(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
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
