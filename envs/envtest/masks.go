package envtest

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
)

// probeMasks finds out whose masks the environment writes at Reset: those that come out the same from a mask that was all
// true and from one that was all false.
func (c *checker) probeMasks() error {
	d, err := c.newDriver()
	if err != nil {
		return err
	}
	n := len(d.spec.Kinds)
	c.maskless = make([]bool, n)
	var after [2][][]bool
	for i, was := range []bool{true, false} {
		for k := range n {
			fill(d.obs.Kinds[k].Mask, was)
		}
		if err := d.reset(c.Seeds[0], c.Seeds[0]); err != nil {
			return err
		}
		for k := range n {
			after[i] = append(after[i], slices.Clone(d.obs.Kinds[k].Mask))
		}
	}
	for i, k := range d.spec.Kinds {
		left, first := 0, -1
		for x := range after[0][i] {
			if after[0][i][x] && !after[1][i][x] {
				if left++; first < 0 {
					first = x
				}
			}
		}
		w := k.Action.MaskWidth()
		switch {
		case w == 0 || left == 0:
		case left == k.Agents*w:
			c.maskless[i] = true
		default:
			c.unwritten = append(c.unwritten, fmt.Sprintf("obs.Kinds[%d].Mask: choice %d of %s %d is not written at Reset; write "+
				"the whole mask at each Reset and Step, or never: then all choices are legal", i, first%w, k.Name, first/w))
		}
	}
	return nil
}

// checkMasks checks that masks are written whole or never, that Step refuses forbidden choices, and that a dependent mask is a function of the observation and
// the partial action.
func checkMasks(c *checker) error {
	for _, u := range c.unwritten {
		c.report("%s", u)
	}
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
