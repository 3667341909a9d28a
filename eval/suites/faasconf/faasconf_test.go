package faasconf

import (
	"testing"

	"github.com/stoker-rl/stoker/envs/sizing"
)

// More users in the same instances wait longer, and a limit keeps successes fast: what Figs. 1a and 1b stand on.
func TestLab(t *testing.T) {
	l, err := newLab(sizing.Sequential)
	if err != nil {
		t.Fatal(err)
	}
	limited := large
	limited.Concurrency = limit
	for seed := range uint64(3) {
		few, err := l.window(seed, 3, l.all(large))
		if err != nil {
			t.Fatal(err)
		}
		many, err := l.window(seed, 30, l.all(large))
		if err != nil {
			t.Fatal(err)
		}
		held, err := l.window(seed, 30, l.all(limited))
		if err != nil {
			t.Fatal(err)
		}
		if many.latency < 2*few.latency || held.p95 >= many.p95 || len(few.p75) != 5 || few.successes <= 0 {
			t.Errorf("seed %d: 3 users %+v, 30 users %+v, with a limit of 3 %+v", seed, few, many, held)
		}
	}
}
