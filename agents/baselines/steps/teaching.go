package steps

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/steps"
)

// Memoryless deciders keep nothing of a request but what its moments say: begun in the middle of a request they decide
// as they would had they decided all of it.
type Memoryless interface {
	steps.Decider
	Memoryless()
}

// Memoryless implements [Memoryless].
func (*Lookahead) Memoryless() {}

// Memoryless implements [Memoryless].
func (*Replan) Memoryless() {}

// Memoryless implements [Memoryless].
func (*DP) Memoryless() {}

// Teaching is the planner of a memoryless decider. Nothing of it is to be saved, so learners can imitate it, or compare
// their choices with its own, and still resume exactly.
type Teaching struct{ *Acting }

// NewTeaching returns the planner of the deciders that build makes, for environments such as env.
func NewTeaching[D Memoryless](name string, env envs.Env, build func() (D, error)) (Teaching, error) {
	a, err := NewActing(name, env, func() (steps.Decider, error) { return build() })
	return Teaching{a}, err
}

// AppendBinary saves nothing.
func (Teaching) AppendBinary(b []byte) ([]byte, error) { return b, nil }

// UnmarshalBinary has the decider begin anew.
func (t Teaching) UnmarshalBinary(b []byte) error {
	if len(b) > 0 {
		return fmt.Errorf("%s: a state of %d bytes, want none", t.name, len(b))
	}
	return t.Reset(0)
}

// recall fills in the places of options that were chosen and are not known: another decided, or this decider began
// later. An option that is not on the menu stands at the one whose mean time is nearest.
func (r *Replan) recall(at *steps.Moment) {
	for v, code := range at.Choice {
		if code < 0 || r.chosen[v] >= 0 {
			continue
		}
		o := r.model.Option(v, code)
		nearest := math.Inf(1)
		for i, c := range r.menus[v] {
			if far := math.Abs(c.option.Mean - o.Mean); far < nearest {
				r.chosen[v], nearest = i, far
			}
		}
	}
}
