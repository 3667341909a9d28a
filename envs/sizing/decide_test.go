package sizing

import (
	"slices"
	"testing"
)

// Hardware with a limit is hybrid under that limit, with one component less to decide and to see.
func TestHardware(t *testing.T) {
	z := Resources{CPU: 1200, Memory: 1000, Replicas: 3, Concurrency: 4}
	hybrid := newRig(t, closed(20), func(c *Config) { c.Windows = 3; c.Initial[3] = 3.5 / 9 })
	hardware := newRig(t, closed(20), func(c *Config) { c.Windows, c.Decide, c.Concurrency = 3, Hardware, 4 })
	if h, w := &hybrid.spec.Kinds[0], &hardware.spec.Kinds[0]; w.Action.Width() != 3 || h.Action.Width() != 4 ||
		w.Observation.Width() != h.Observation.Width()-1 {
		t.Errorf("hardware decides %v and sees %v", w.Actions, w.Features)
	}
	for _, r := range []*rig{hybrid, hardware} {
		r.reset(5)
		r.all(z)
	}
	for range 3 {
		hybrid.step()
		hardware.step()
		if !slices.Equal(hybrid.out.Info, hardware.out.Info) {
			t.Errorf("a limit of 4 gave %v when decided and %v when fixed", hybrid.out.Info, hardware.out.Info)
		}
	}
}

// Without a limit no instance refuses a request, except for want of memory.
func TestNoLimit(t *testing.T) {
	failed := func(concurrency int) float64 {
		r := newRig(t, closed(30), func(c *Config) {
			c.Windows, c.Decide, c.Concurrency, c.MemoryLimit = 1, Hardware, concurrency, false
		})
		r.reset(1)
		r.all(Resources{CPU: 2000, Memory: 1000, Replicas: 2})
		r.step()
		return r.info("failed")
	}
	if n := failed(0); n != 0 {
		t.Errorf("without a limit %g requests failed", n)
	}
	if n := failed(1); n == 0 {
		t.Error("with a limit of 1 no request failed")
	}
}
