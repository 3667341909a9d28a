package envtest

import (
	"runtime"

	"github.com/stoker-rl/stoker/envs"
)

// attempts is the number of times that allocations are counted. The smallest count is that of the environment; the
// other counts include what other goroutines allocate.
const attempts = 5

// allocations returns the smallest number of allocations among several runs of f.
func allocations(f func() error) (uint64, error) {
	least := ^uint64(0)
	var before, after runtime.MemStats
	for range attempts {
		runtime.ReadMemStats(&before)
		if err := f(); err != nil {
			return 0, err
		}
		runtime.ReadMemStats(&after)
		if least = min(least, after.Mallocs-before.Mallocs); least == 0 {
			break
		}
	}
	return least, nil
}

// checkAllocation checks that neither Reset nor Step nor CopyFrom allocates after a warm-up.
func checkAllocation(c *checker) error {
	a, err := c.newDriver()
	if err != nil {
		return err
	}
	b, err := c.newDriver()
	if err != nil {
		return err
	}
	resets := func() error {
		for _, seed := range c.Seeds {
			if err := a.env.Reset(seed, c.Reset, a.obs); err != nil {
				return err
			}
		}
		return nil
	}
	steps := 0
	episodes := func() error {
		steps = 0
		for _, seed := range c.Seeds {
			if err := a.reset(seed, seed); err != nil {
				return err
			}
			if err := a.run(c.Steps, nil); err != nil {
				return err
			}
			steps += a.steps
		}
		return nil
	}
	copies := func() error {
		if err := b.env.CopyFrom(a.env); err != nil {
			return err
		}
		return b.env.CopyFrom(a.env)
	}
	// The warm-up runs the same episodes as the measurement, so that every buffer has its final size.
	for _, f := range []func() error{resets, episodes, copies} {
		if err := f(); err != nil {
			return err
		}
	}
	n, err := allocations(resets)
	if err != nil {
		return err
	}
	if n > 0 {
		c.report("Reset allocates: %d times in %d calls, after a warm-up", n, len(c.Seeds))
	} else if n, err = allocations(episodes); err != nil {
		return err
	} else if n > 0 {
		c.report("Step allocates: %d times in %d calls, after a warm-up", n, steps)
	}
	if n, err = allocations(copies); err != nil {
		return err
	}
	if n > 0 {
		c.report("CopyFrom allocates: %d times in 2 calls, after a warm-up", n)
	}
	return nil
}

// checkSamples checks that an environment that declares distributions appends finite samples of them.
func checkSamples(c *checker) error {
	d, err := c.newDriver()
	if err != nil {
		return err
	}
	n := len(d.spec.Samples)
	s, ok := envs.As[envs.Sampler](d.env)
	if n > 0 && !ok {
		c.report("the spec lists %d distributions, but there is no AppendSamples", n)
	}
	if n == 0 || !ok {
		return nil
	}
	if err := d.reset(c.Seeds[0], 0); err != nil {
		return err
	}
	return d.run(c.Steps, func() {
		for i := range n {
			x := s.AppendSamples(i, []float64{-7})
			if len(x) == 0 || x[0] != -7 {
				c.report("AppendSamples(%d) does not append: it overwrote what was there", i)
				continue
			}
			for _, v := range x[1:] {
				if v-v != 0 {
					c.report("step %d: %q has a sample of %g", d.steps, d.spec.Samples[i].Name, v)
				}
			}
		}
	})
}
