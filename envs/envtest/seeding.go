package envtest

import (
	"fmt"
	"math"
	"slices"
)

// checkSeeding checks that an episode depends on its seed alone, not on earlier episodes, and that different seeds give
// different episodes.
func checkSeeding(c *checker) error {
	d, err := c.newDriver()
	if err != nil {
		return err
	}
	first := make([]trace, len(c.Seeds))
	for i, seed := range c.Seeds {
		if first[i], err = d.trace(seed, 0, nil); err != nil {
			return err
		}
	}
	// Again in reverse order, after an episode that was not finished.
	if err := d.reset(c.Seeds[0], 0); err != nil {
		return err
	}
	if err := d.run(1+len(first[0])/2, nil); err != nil {
		return err
	}
	for i := len(c.Seeds) - 1; i >= 0; i-- {
		again, err := d.trace(c.Seeds[i], 0, nil)
		if err != nil {
			return err
		}
		if k := differ(first[i], again); k >= 0 {
			c.report("seed %d gives another episode after other episodes, from step %d on; Reset must clear all state",
				c.Seeds[i], k)
		}
	}
	if c.Fixed || len(c.Seeds) < 2 {
		return nil
	}
	if !slices.ContainsFunc(first[1:], func(t trace) bool { return differ(first[0], t) >= 0 }) {
		c.report("seeds %v all give the same episode under the same actions", c.Seeds)
		return nil
	}
	return c.wholeSeed(d, first)
}

// wholeSeed checks that the episode depends on each of the seed's eight bytes.
func (c *checker) wholeSeed(d *driver, first []trace) error {
	for b := range 8 {
		matters := false
		for i := 0; i < len(c.Seeds) && !matters; i++ {
			var err error
			if matters, err = d.differs(first[i], c.Seeds[i]^0x5a<<(8*b)); err != nil {
				return err
			}
		}
		if !matters {
			c.report("seeds that differ only in byte %d, counted from the lowest, give the same episodes; all 64 bits of "+
				"the seed must be used", b)
		}
	}
	return nil
}

// differs reports whether a seed's episode is another than was; it is played until they part.
func (d *driver) differs(was trace, seed uint64) (bool, error) {
	if err := d.reset(seed, 0); err != nil {
		return false, err
	}
	now := record(nil, d.obs, nil)
	for _, w := range was {
		if string(now) != string(w) {
			return true, nil
		}
		if d.ended() || d.steps == d.c.Steps {
			break
		}
		if err := d.step(); err != nil {
			return false, err
		}
		now = record(now[:0], d.obs, d.out)
	}
	return false, nil
}

// checkDeterminism checks that two environments with the same seed and actions emit the same bits.
func checkDeterminism(c *checker) error {
	a, err := c.newDriver()
	if err != nil {
		return err
	}
	// 0 and the largest seed are ordinary seeds: they must not mean "choose a random seed".
	for _, seed := range append(slices.Clone(c.Seeds), 0, math.MaxUint64) {
		b, err := c.newDriver()
		if err != nil {
			return err
		}
		x, err := a.trace(seed, seed, nil)
		if err != nil {
			return err
		}
		y, err := b.trace(seed, seed, nil)
		if err != nil {
			return err
		}
		if i := differ(x, y); i >= 0 {
			c.report("seed %d: two environments differ at step %d under the same actions", seed, i)
		}
	}
	return nil
}

// checkIndependence checks that stepping one environment does not change another.
func checkIndependence(c *checker) error {
	seed := c.Seeds[0]
	a, err := c.newDriver()
	if err != nil {
		return err
	}
	b, err := c.newDriver()
	if err != nil {
		return err
	}
	alone, err := a.trace(seed, 0, nil)
	if err != nil {
		return err
	}
	if err := b.reset(c.Seeds[len(c.Seeds)-1]+1, 1); err != nil {
		return err
	}
	if err := a.reset(seed, 0); err != nil {
		return err
	}
	beside := trace{record(nil, a.obs, nil)}
	for a.steps < c.Steps && !a.ended() {
		if b.ended() {
			if err := b.reset(uint64(a.steps), 1); err != nil {
				return err
			}
		}
		if err := b.step(); err != nil {
			return fmt.Errorf("the other environment: %w", err)
		}
		if err := a.step(); err != nil {
			return err
		}
		beside = append(beside, record(nil, a.obs, a.out))
	}
	if i := differ(alone, beside); i >= 0 {
		c.report("seed %d: differs at step %d while another environment is stepped; they share state", seed, i)
	}
	return nil
}
