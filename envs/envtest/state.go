package envtest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
)

// saved returns the environment's saved state.
func (d *driver) saved() ([]byte, error) {
	b, err := d.env.AppendBinary(nil)
	if err != nil {
		return nil, fmt.Errorf("AppendBinary: %w", err)
	}
	return b, nil
}

// checkEqual checks that b, a copy of a, has the same state and behaves in the same way: under the same actions both
// emit the same to the end of the episode and in the next one, and stepping b does not change a.
func (c *checker) checkEqual(what string, a, b *driver) error {
	was, err := a.saved()
	if err != nil {
		return err
	}
	now, err := b.saved()
	if err != nil {
		return err
	}
	if string(was) != string(now) {
		c.report("%s after %d steps: AppendBinary returns other bytes than for the original", what, a.steps)
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
	if again, err := a.saved(); err != nil {
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

// future runs to the end of the episode and through the beginning of the next one.
func (d *driver) future() (trace, error) {
	t, err := d.rest(nil, nil)
	if err != nil {
		return nil, err
	}
	if d.ended() && d.env.Step(d.act, d.obs, d.out) == nil {
		return nil, errors.New("a step after the episode's end was accepted")
	}
	if err := d.reset(99, 99); err != nil {
		return nil, err
	}
	t = append(t, d.record(nil))
	err = d.run(min(3, d.c.Steps), func() { t = append(t, d.record(d.out)) })
	return t, err
}

// copySteps returns the numbers of steps after which copies are made: at the start, after one step, in the middle and
// at the end of an episode of n steps.
func copySteps(n int) []int {
	m := []int{0, 1, n / 2, n}
	slices.Sort(m)
	return slices.Compact(m)
}

// eachCopyStep calls f after each of the copySteps of each seed's episode.
func (c *checker) eachCopyStep(f func(d *driver, seed uint64) error) error {
	d, err := c.newDriver()
	if err != nil {
		return err
	}
	for _, seed := range c.Seeds {
		if err := d.reset(seed, seed); err != nil {
			return err
		}
		if err := d.run(c.Steps, nil); err != nil {
			return err
		}
		for _, n := range copySteps(d.steps) {
			if err := d.reset(seed, seed); err != nil {
				return err
			}
			if err := d.run(n, nil); err != nil {
				return err
			}
			if err := f(d, seed); err != nil || c.enough() {
				return err
			}
		}
	}
	return nil
}

// checkCopies checks that CopyFrom makes an equal and independent environment, whatever the copy's state was.
func checkCopies(c *checker) error {
	b, err := c.newDriver()
	if err != nil {
		return err
	}
	// The first copy is into an environment that was never reset, the later ones are into a used environment.
	err = c.eachCopyStep(func(a *driver, seed uint64) error {
		if err := b.env.CopyFrom(a.env); err != nil {
			return fmt.Errorf("CopyFrom an equal environment: %w", err)
		}
		return c.checkEqual("copy", a, b)
	})
	if err != nil {
		return err
	}
	before, err := b.saved()
	if err != nil {
		return err
	}
	if b.env.CopyFrom(otherType{b.env}) == nil {
		c.report("CopyFrom an environment of another type was accepted, want an error")
		return nil
	}
	if after, err := b.saved(); err != nil {
		return err
	} else if string(before) != string(after) {
		c.report("CopyFrom refused an environment of another type, but changed the state")
	}
	return nil
}

// otherType is an environment of a type that no tested environment has.
type otherType struct{ envs.Env }

// checkSaves checks that AppendBinary and UnmarshalBinary restore an equal environment, and that damaged bytes are
// refused.
func checkSaves(c *checker) error {
	err := c.eachCopyStep(func(a *driver, seed uint64) error {
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
			c.report("AppendBinary does not append: it overwrote the bytes before")
			return nil
		}
		saved = saved[len(prefix):]
		bytes := slices.Clone(saved)
		if err := b.env.UnmarshalBinary(bytes); err != nil {
			return fmt.Errorf("UnmarshalBinary of AppendBinary's bytes: %w", err)
		}
		fill(bytes, 0xa5) // the environment must not keep the caller's bytes
		return c.checkEqual("restored state", a, b)
	})
	if err != nil {
		return err
	}
	return c.damaged()
}

// damaged checks that a saved state that is cut or too long is refused, and that one with flipped bits causes no panic.
func (c *checker) damaged() error {
	d, err := c.newDriver()
	if err != nil {
		return err
	}
	if err := d.reset(c.Seeds[0], 0); err != nil {
		return err
	}
	if err := d.run(2, nil); err != nil {
		return err
	}
	good, err := d.saved()
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
		c.report("a saved state with one byte too many was accepted")
	}
	for i := 0; i < len(good); i += 1 + len(good)/100 {
		for _, x := range []byte{0x01, 0xff} {
			bad := slices.Clone(good)
			bad[i] ^= x
			_ = d.env.UnmarshalBinary(bad) // not every flipped bit can be detected, but none may cause a panic
		}
	}
	if err := d.env.UnmarshalBinary(good); err != nil {
		return fmt.Errorf("UnmarshalBinary after damaged states: %w", err)
	}
	return nil
}
