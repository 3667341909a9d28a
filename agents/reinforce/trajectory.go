package reinforce

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/envs/state"
)

// trajectory is one agent's steps from a beginning to an end or a cut. Its memory is used again.
type trajectory struct {
	sequence  int  // number of the recurring episode, 0 where the environment names none
	bootstrap bool // it was cut or truncated: the return continues in the value of the last observation
	imitated  bool // a teacher chose the actions
	steps     int
	obs       observations // by step, and the last one after the end
	// By step: the mask, [steps, choices], the choice, [steps, components], the scaled reward, the discount of what
	// follows, and ln π of the choice when it was made.
	mask                           []bool
	choice, reward, discount, logp []float32
	counterfactual                 []float32 // advantages of that baseline, else empty
}

func (t *trajectory) clear() {
	t.sequence, t.bootstrap, t.imitated, t.steps = 0, false, false, 0
	t.obs.clear()
	t.mask = t.mask[:0]
	for _, s := range t.columns() {
		*s = (*s)[:0]
	}
}

func (t *trajectory) columns() [5]*[]float32 {
	return [5]*[]float32{&t.choice, &t.reward, &t.discount, &t.logp, &t.counterfactual}
}

// ended reports whether the observation after the end is there.
func (t *trajectory) ended() bool { return t.obs.rows() > t.steps }

// State implements [state.Stater]. The store calls check.
func (t *trajectory) State(c *state.Codec) {
	state.Value(c, &t.sequence)
	state.Value(c, &t.bootstrap)
	state.Value(c, &t.imitated)
	state.Value(c, &t.steps)
	c.Part(t.obs)
	state.Slice(c, &t.mask)
	for _, s := range t.columns() {
		state.Slice(c, s)
	}
}

// check says what is wrong with a loaded trajectory whose actions have components with so many choices each.
func (t *trajectory) check(components []int, counterfactual bool) error {
	if t.steps < 0 || t.obs.rows() < t.steps || t.obs.rows() > t.steps+1 {
		return fmt.Errorf("%d steps with %d observations, want as many or one more", t.steps, t.obs.rows())
	}
	choices := 0
	for _, n := range components {
		choices += n
	}
	want := [5]int{t.steps * len(components), t.steps, t.steps, t.steps, 0}
	if counterfactual {
		want[4] = t.steps
	}
	for i, name := range [5]string{"choices", "rewards", "discounts", "ln π", "counterfactual advantages"} {
		if got := len(*t.columns()[i]); got != want[i] {
			return fmt.Errorf("%d steps have %d %s, want %d", t.steps, got, name, want[i])
		}
	}
	if len(t.mask) != t.steps*choices {
		return fmt.Errorf("%d steps have a mask of %d, want %d", t.steps, len(t.mask), t.steps*choices)
	}
	if t.bootstrap && !t.ended() {
		return errors.New("it bootstraps without a last observation")
	}
	for i, c := range t.choice {
		if n := components[i%len(components)]; !(c >= 0 && c < float32(n)) {
			return fmt.Errorf("choice %d is %g, want 0 to %d", i, c, n-1)
		}
	}
	return nil
}
