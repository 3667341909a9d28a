package envs

import (
	"fmt"

	"github.com/stoker-rl/stoker/rng"
)

// ActionSampler draws uniformly among the legal actions: each component among what the masks allow after the components before
// it. It is used by one goroutine at a time.
type ActionSampler struct {
	spec    *Spec
	choices [][]int // of each kind's components, where MaskAfter is set
	mask    []bool
}

// NewActionSampler returns a sampler of a spec's actions.
func NewActionSampler(s *Spec) (*ActionSampler, error) {
	a := &ActionSampler{spec: s, choices: make([][]int, len(s.Kinds))}
	for i, k := range s.Kinds {
		if k.MaskAfter == nil {
			continue
		}
		a.choices[i] = Choices(k.Action)
		for c, n := range a.choices[i] {
			if n == 0 {
				return nil, fmt.Errorf("%s: component %d of the actions of kind %q has a dependent mask but no choices: it is part of %v",
					s.ID, c, k.Name, k.Action)
			}
			a.mask = append(a.mask, make([]bool, max(0, n-len(a.mask)))...)
		}
	}
	return a, nil
}

// Sample draws an action for every active agent of obs; the rows of the others become zero. An active agent without a legal
// choice is an error.
func (a *ActionSampler) Sample(s *rng.Stream, obs *Observation, act *Action) error {
	for i := range a.spec.Kinds {
		k, o := &a.spec.Kinds[i], &obs.Kinds[i]
		w, m := k.Action.Width(), k.Action.MaskWidth()
		for j := range k.Agents {
			row := act.Kinds[i][j*w : (j+1)*w]
			if !o.Active[j] {
				clear(row)
				continue
			}
			if k.MaskAfter == nil {
				// The whole mask is nil for continuous actions.
				k.Action.Sample(s, o.Mask[j*m:(j+1)*m], row)
				continue
			}
			for c, n := range a.choices[i] {
				mask := a.mask[:n]
				if err := k.MaskAfter(o, j, row[:c], mask); err != nil {
					return fmt.Errorf("%s: %s %d: mask of component %d: %w", a.spec.ID, k.Name, j, c, err)
				}
				if !anyTrue(mask) {
					return fmt.Errorf("%s: %s %d: component %d has no legal choice after %v", a.spec.ID, k.Name, j, c, row[:c])
				}
				row[c] = float32(sampleChoice(s, n, mask))
			}
		}
	}
	return nil
}

func anyTrue(mask []bool) bool {
	for _, ok := range mask {
		if ok {
			return true
		}
	}
	return false
}
