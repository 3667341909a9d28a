package envtest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
)

// bytesOf is the environment's saved state.
func (d *driver) bytesOf() ([]byte, error) {
	b, err := d.env.AppendBinary(nil)
	if err != nil {
		return nil, fmt.Errorf("AppendBinary: %w", err)
	}
	return b, nil
}

// alike checks that b, made from a, has the same state and the same future: under the same actions both emit the same
// to the end of the episode and in the next one, and stepping b leaves a alone.
func (c *checker) alike(what string, a, b *driver) error {
	was, err := a.bytesOf()
	if err != nil {
		return err
	}
	now, err := b.bytesOf()
	if err != nil {
		return err
	}
	if string(was) != string(now) {
		c.report("%s after %d steps: AppendBinary gives other bytes than the original's", what, a.steps)
		return nil
	}
	b.obs.CopyFrom(a.obs)
	b.steps, b.out.Terminated, b.out.Truncated = a.steps, a.out.Terminated, a.out.Truncated
	policy := *a.stream
	*b.stream = policy
	y, err := b.future()
	if err != nil {
		c.report("%s after %d steps: %v", what, a.steps, err)
		return nil
	}
	if again, err := a.bytesOf(); err != nil {
		return err
	} else if string(again) != string(was) {
		c.report("%s after %d steps: stepping the copy changed the original; they share state", what, a.steps)
		return nil
	}
	at := a.steps
	x, err := a.future()
	if err != nil {
		return err
	}
	if i := differ(x, y); i >= 0 {
		c.report("%s after %d steps: differs from the original %d steps later", what, at, i+1)
	}
	return nil
}

// future walks to the end and through the beginning of another episode.
func (d *driver) future() (trace, error) {
	t, err := d.rest(nil, nil)
	if err != nil {
		return nil, err
	}
	if d.ended() && d.env.Step(d.act, d.obs, d.out) == nil {
		return nil, errors.New("a step after the episode's end was accepted")
	}
	next, err := d.trace(99, 99, nil)
	if err != nil {
		return nil, err
	}
	return append(t, next[:min(len(next), 4)]...), nil
}

// moments are the numbers of steps after which copies are made: at the start, soon, in the middle and at the end of an
// episode of n steps.
func moments(n int) []int {
	m := []int{0, 1, n / 2, n}
	slices.Sort(m)
	return slices.Compact(m)
}

// eachMoment calls f with environments that stand at each moment of each seed's episode.
func (c *checker) eachMoment(f func(d *driver, seed uint64) error) error {
	d, err := c.newDriver()
	if err != nil {
		return err
	}
	for _, seed := range c.Seeds {
		if err := d.reset(seed, seed); err != nil {
			return err
		}
		if err := d.walk(c.Steps, nil); err != nil {
			return err
		}
		for _, n := range moments(d.steps) {
			if err := d.reset(seed, seed); err != nil {
				return err
			}
			if err := d.walk(n, nil); err != nil {
				return err
			}
			if err := f(d, seed); err != nil || c.enough() {
				return err
			}
		}
	}
	return nil
}

// checkCopies: CopyFrom makes an equal and independent environment, whatever the copy was before.
func checkCopies(c *checker) error {
	b, err := c.newDriver()
	if err != nil {
		return err
	}
	// First into an environment that was never reset, later into one that has a past.
	err = c.eachMoment(func(a *driver, seed uint64) error {
		if err := b.env.CopyFrom(a.env); err != nil {
			return fmt.Errorf("CopyFrom an equal environment: %w", err)
		}
		return c.alike("copy", a, b)
	})
	if err != nil {
		return err
	}
	before, err := b.bytesOf()
	if err != nil {
		return err
	}
	if b.env.CopyFrom(foreign{b.env}) == nil {
		c.report("CopyFrom an environment of another type was accepted, want an error")
		return nil
	}
	if after, err := b.bytesOf(); err != nil {
		return err
	} else if string(before) != string(after) {
		c.report("CopyFrom refused an environment of another type, but changed the state")
	}
	return nil
}

// foreign is an environment of another type than any.
type foreign struct{ envs.Env }

// checkSaves: AppendBinary and UnmarshalBinary restore an equal environment, and damaged bytes are refused.
func checkSaves(c *checker) error {
	err := c.eachMoment(func(a *driver, seed uint64) error {
		b, err := c.newDriver()
		if err != nil {
			return err
		}
		const prefix = "kept"
		saved, err := a.env.AppendBinary([]byte(prefix))
		if err != nil {
			return err
		}
		if len(saved) < len(prefix) || string(saved[:len(prefix)]) != prefix {
			c.report("AppendBinary does not append: it overwrote what was there")
			return nil
		}
		saved = saved[len(prefix):]
		bytes := slices.Clone(saved)
		if err := b.env.UnmarshalBinary(bytes); err != nil {
			return fmt.Errorf("UnmarshalBinary of what AppendBinary gave: %w", err)
		}
		fill(bytes, 0xa5) // the environment may not keep the caller's bytes
		return c.alike("restored state", a, b)
	})
	if err != nil {
		return err
	}
	return c.damaged()
}

// damaged cuts, lengthens and flips a saved state. Not every flipped bit can be seen, but none may panic.
func (c *checker) damaged() error {
	d, err := c.newDriver()
	if err != nil {
		return err
	}
	if err := d.reset(c.Seeds[0], 0); err != nil {
		return err
	}
	if err := d.walk(2, nil); err != nil {
		return err
	}
	good, err := d.bytesOf()
	if err != nil {
		return err
	}
	for i := 0; i < len(good); i += 1 + len(good)/100 {
		if d.env.UnmarshalBinary(good[:i]) == nil {
			c.report("a saved state cut to %d of %d bytes was accepted", i, len(good))
			return nil
		}
	}
	if d.env.UnmarshalBinary(append(slices.Clone(good), 0)) == nil {
		c.report("a saved state with a byte too many was accepted")
	}
	for i := 0; i < len(good); i += 1 + len(good)/100 {
		for _, x := range []byte{0x01, 0xff} {
			bad := slices.Clone(good)
			bad[i] ^= x
			_ = d.env.UnmarshalBinary(bad) // an error or not; a panic is what is looked for
		}
	}
	if err := d.env.UnmarshalBinary(good); err != nil {
		return fmt.Errorf("UnmarshalBinary after damaged states: %w", err)
	}
	return nil
}
