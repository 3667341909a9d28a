package faasconf

import (
	"testing"

	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/internal/must"
)

// More users in the same instances wait longer, and a limit keeps successes fast: what Figs. 1a and 1b stand on.
func TestLab(t *testing.T) {
	l := must.Get(newLab(sizing.Sequential))(t)
	limited := large
	limited.Concurrency = limit
	for seed := range uint64(3) {
		few, many, held := l.window(seed, 3, l.all(large)), l.window(seed, 30, l.all(large)), l.window(seed, 30, l.all(limited))
		if l.err != nil {
			t.Fatal(l.err)
		}
		if many.latency < 2*few.latency || held.p95 >= many.p95 || len(few.p75) != 5 || few.successes <= 0 {
			t.Errorf("seed %d: 3 users %+v, 30 users %+v, with a limit of 3 %+v", seed, few, many, held)
		}
	}
}

// Each way to tune ends below the largest configuration, and the ways that look at the workflow keep its thresholds in
// the windows that they tuned in: what Fig. 2 stands on.
func TestTuning(t *testing.T) {
	l := must.Get(newLab(sizing.Sequential))(t)
	for m, choose := range []func(*tuner) []sizing.Resources{individually, oneAfterAnother, allAtOnce} {
		u := &tuner{lab: l, seed: 1, qos: sizing.RisingThresholds(sizing.Sequential, tuneUsers)}
		most, rs := l.price(u.largest()), choose(u)
		price, s := l.price(rs), u.try(rs)
		if l.err != nil {
			t.Fatal(l.err)
		}
		t.Logf("%s: %.2f of %.2f USD/h, %.1f s, %d windows, violated %t", tuningMethods[m], price, most, s.latency, u.windows,
			s.violated)
		if price >= most || m > 0 && s.violated {
			t.Errorf("%s tuning: %.2f USD/h of at most %.2f, violated: %t", tuningMethods[m], price, most, s.violated)
		}
	}
}
