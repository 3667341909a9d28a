package envtest

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs"
)

// mustRefuse steps with d.act. Step must return an error and change neither the environment nor any buffer.
func (d *driver) mustRefuse(what string) {
	before, err := d.env.AppendBinary(nil)
	if err != nil {
		d.c.report("%v", err)
		return
	}
	act := cloneAction(d.act)
	obs, out := envs.NewObservation(d.spec), envs.NewOutcome(d.spec)
	blank := record(nil, obs, out)
	if d.env.Step(d.act, obs, out) == nil {
		d.c.report("%s was accepted, want an error", what)
		return
	}
	after, err := d.env.AppendBinary(nil)
	if err != nil {
		d.c.report("%v", err)
		return
	}
	if string(before) != string(after) {
		d.c.report("%s was refused, but it changed the environment's state", what)
	}
	if string(record(nil, obs, out)) != string(blank) {
		d.c.report("%s was refused, but it wrote an observation or an outcome", what)
	}
	if !slices.EqualFunc(act.Kinds, d.act.Kinds, sameBits) {
		d.c.report("%s: Step changed the caller's action", what)
	}
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

func cloneAction(a *envs.Action) *envs.Action {
	c := &envs.Action{}
	for _, k := range a.Kinds {
		c.Kinds = append(c.Kinds, slices.Clone(k))
	}
	return c
}

// checkActions checks that Step refuses an action outside its space or of the wrong size.
func checkActions(c *checker) error {
	d, err := c.newDriver()
	if err != nil {
		return err
	}
	seed := c.Seeds[0]
	if err := d.reset(seed, seed); err != nil {
		return err
	}
	for range 3 { // at the first observation and at two later ones
		if err := d.choose(); err != nil {
			return err
		}
		legal := cloneAction(d.act)
		for i := range d.spec.Kinds {
			c.tryValues(d, i)
			c.trySizes(d, i)
		}
		d.act.Kinds = nil
		d.mustRefuse("an action without any kind")
		d.act.Kinds = legal.Kinds
		if c.enough() {
			return nil
		}
		// The legal action is still accepted after the refusals.
		legal = cloneAction(d.act)
		if err := d.apply(); err != nil {
			return err
		}
		if !slices.EqualFunc(legal.Kinds, d.act.Kinds, sameBits) {
			c.report("step %d: Step changed the caller's action", d.steps)
		}
		if d.ended() {
			if err := d.reset(seed+1, seed); err != nil {
				return err
			}
		}
	}
	return nil
}

// tryValues puts each illegal value into each component of the first and the last active agent of a kind.
func (c *checker) tryValues(d *driver, kind int) {
	k := &d.spec.Kinds[kind]
	w := k.Action.Width()
	first := slices.Index(d.obs.Kinds[kind].Active, true)
	if first < 0 {
		return
	}
	last := first
	for j, a := range d.obs.Kinds[kind].Active {
		if a {
			last = j
		}
	}
	for _, agent := range slices.Compact([]int{first, last}) {
		row := d.act.Kinds[kind][agent*w : (agent+1)*w]
		for i, was := range row {
			for _, x := range illegalValues(k.Action, i) {
				row[i] = x
				d.mustRefuse(fmt.Sprintf("%g in component %d of the action of %s %d", x, i, k.Name, agent))
				if c.enough() {
					return
				}
			}
			row[i] = was
		}
	}
}

// illegalValues lists values that are not allowed in component i of a space.
func illegalValues(s envs.Space, i int) []float32 {
	out := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}
	switch s := s.(type) {
	case envs.Box:
		lo, hi := s.Low[i], s.High[i]
		if lo > -math.MaxFloat32 {
			out = append(out, lo-max(1, abs(lo)))
		}
		if hi < math.MaxFloat32 {
			out = append(out, hi+max(1, abs(hi)))
		}
		if s.Integer != nil && s.Integer[i] && lo < hi {
			if lo > -math.MaxFloat32 {
				out = append(out, lo+0.5)
			} else {
				out = append(out, 0.5)
			}
		}
		return out
	case envs.Dict:
		return illegalValues(s.Tuple, i)
	case envs.Tuple:
		for _, p := range s.Spaces {
			if i < p.Width() {
				return illegalValues(p, i)
			}
			i -= p.Width()
		}
	}
	return append(out, -1, float32(envs.Choices(s)[i]), 0.5)
}

func abs(x float32) float32 { return max(x, -x) }

// trySizes tries actions of a kind with one number less, one more and none.
func (c *checker) trySizes(d *driver, kind int) {
	was, name := d.act.Kinds[kind], d.spec.Kinds[kind].Name
	for _, a := range [][]float32{was[:len(was)-1], append(slices.Clone(was), 0), nil} {
		d.act.Kinds[kind] = a
		d.mustRefuse(fmt.Sprintf("an action of kind %q with %d numbers instead of %d", name, len(a), len(was)))
	}
	d.act.Kinds[kind] = was
}

// checkInactive checks that Step does not read the actions of inactive agents.
func checkInactive(c *checker) error {
	a, err := c.newDriver()
	if err != nil {
		return err
	}
	b, err := c.newDriver()
	if err != nil {
		return err
	}
	for _, seed := range c.Seeds {
		want, err := a.trace(seed, seed, nil)
		if err != nil {
			return err
		}
		got, err := b.trace(seed, seed, func() { fillInactive(b) })
		if err != nil {
			c.report("seed %d: with NaN as the actions of inactive agents: %v", seed, err)
			return nil
		}
		if i := differ(want, got); i >= 0 {
			c.report("seed %d, step %d: the actions of inactive agents change the episode; Step must not read them", seed, i)
		}
	}
	return nil
}

// fillInactive writes NaN into the actions of the inactive agents.
func fillInactive(d *driver) {
	for i, k := range d.spec.Kinds {
		w := k.Action.Width()
		for j, active := range d.obs.Kinds[i].Active {
			if !active {
				fill(d.act.Kinds[i][j*w:(j+1)*w], float32(math.NaN()))
			}
		}
	}
}

// checkOption checks that Reset refuses an unknown option.
func checkOption(c *checker) error {
	d, err := c.newDriver()
	if err != nil {
		return err
	}
	const name = "no environment has an option of this name"
	if d.env.Reset(c.Seeds[0], envs.Options{name: 1}, d.obs) == nil {
		c.report("Reset accepted an unknown option, want an error that names it")
	}
	return nil
}
