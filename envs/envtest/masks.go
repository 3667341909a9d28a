package envtest

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
)

// checkMasks checks that Step refuses forbidden choices, and that a dependent mask is a function of the observation and
// the partial action.
func checkMasks(c *checker) error {
	d, err := c.newDriver()
	if err != nil {
		return err
	}
	for i := range d.spec.Kinds {
		if d.spec.Kinds[i].Action.MaskWidth() == 0 {
			continue
		}
		for _, seed := range c.Seeds {
			if err := d.reset(seed, seed); err != nil {
				return err
			}
			for d.steps < c.Steps && !d.ended() && !c.enough() {
				if err := d.choose(); err != nil {
					return err
				}
				c.tryForbidden(d, i)
				if d.spec.Kinds[i].MaskAfter != nil {
					if err := c.tryDependent(d, i); err != nil {
						return err
					}
				}
				if err := d.apply(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// tryForbidden replaces one component of the legal action in d.act at a time by a choice that its mask forbids.
func (c *checker) tryForbidden(d *driver, kind int) {
	k, o := &d.spec.Kinds[kind], &d.obs.Kinds[kind]
	w, m := k.Action.Width(), k.Action.MaskWidth()
	choices := envs.Choices(k.Action)
	for j, active := range o.Active {
		if !active {
			continue
		}
		row, mask := d.act.Kinds[kind][j*w:(j+1)*w], o.Mask[j*m:(j+1)*m]
		for i, n := range choices {
			if n == 0 {
				continue
			}
			allowed := mask[:n]
			mask = mask[n:]
			if k.MaskAfter != nil {
				allowed = make([]bool, n)
				if err := k.MaskAfter(o, j, row[:i], allowed); err != nil {
					c.report("%v", err)
					return
				}
			}
			if x := slices.Index(allowed, false); x >= 0 {
				was := row[i]
				row[i] = float32(x)
				d.mustRefuse(fmt.Sprintf("step %d: %d in component %d of the action of %s %d, which its mask forbids after %v",
					d.steps, x, i, k.Name, j, row[:i]))
				row[i] = was
			}
		}
	}
}

// tryDependent checks MaskAfter for each component of the legal action in d.act.
func (c *checker) tryDependent(d *driver, kind int) error {
	k, o := &d.spec.Kinds[kind], &d.obs.Kinds[kind]
	w, m := k.Action.Width(), k.Action.MaskWidth()
	seen := envs.NewObservation(d.spec)
	seen.CopyFrom(d.obs)
	before := record(nil, d.obs, nil)
	for j, active := range o.Active {
		if !active {
			continue
		}
		row, whole := d.act.Kinds[kind][j*w:(j+1)*w], o.Mask[j*m:(j+1)*m]
		for i, n := range envs.Choices(k.Action) {
			a, b := make([]bool, n), make([]bool, n)
			fill(b, true)
			if err := k.MaskAfter(o, j, row[:i], a); err != nil {
				return fmt.Errorf("mask of component %d of %s %d after %v: %w", i, k.Name, j, row[:i], err)
			}
			// Again on a copy of the observation, with other previous contents of the mask.
			if err := k.MaskAfter(&seen.Kinds[kind], j, row[:i], b); err != nil {
				return err
			}
			at := fmt.Sprintf("step %d: mask of component %d of %s %d after %v", d.steps, i, k.Name, j, row[:i])
			if !slices.Equal(a, b) {
				c.report("%s differs between two calls for the same observation, or is not fully written", at)
			}
			for x := range a {
				if a[x] && !whole[x] {
					c.report("%s allows choice %d, which the observation's mask forbids", at, x)
					break
				}
			}
			if i == 0 && !slices.Equal(a, whole[:n]) {
				c.report("%s differs from the observation's mask, want it equal for the first component", at)
			}
			whole = whole[n:]
		}
	}
	if string(before) != string(record(nil, d.obs, nil)) {
		c.report("step %d: MaskAfter changed the observation", d.steps)
	}
	return nil
}
