package sizing

import (
	"testing"

	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// TestPriceOf: the price told before a step is the one that the step reports, and telling it allocates nothing.
func TestPriceOf(t *testing.T) {
	r := newRig(t, workload.Default(), nil)
	r.reset(1)
	stream := rng.NewStream(1, "prices")
	for range 3 {
		for i := range r.act.Kinds[0] {
			r.act.Kinds[0][i] = float32(0.4 * stream.Float64())
		}
		want := must.Get(r.PriceOf(r.act))(t)
		r.step()
		near(t, "price", r.info("price"), want, 1e-12)
	}
	if n := testing.AllocsPerRun(10, func() { _, _ = r.PriceOf(r.act) }); n != 0 {
		t.Errorf("PriceOf allocates %g times", n)
	}
	r.act.Kinds[0][2] = 2
	if _, err := r.PriceOf(r.act); err == nil {
		t.Error("an action outside its space has a price")
	}
}
