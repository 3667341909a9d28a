package envs

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/rng"
)

// ActionSampler draws uniformly among the legal actions: each component among what the masks allow after the components
// before it. It is used by one goroutine at a time.
type ActionSampler struct {
	spec    *Spec
	choices [][]int // of the components of each kind's actions
	mask    []bool
}

// NewActionSampler returns a sampler of a spec's actions.
func NewActionSampler(s *Spec) (*ActionSampler, error) {
	a := &ActionSampler{spec: s, choices: make([][]int, len(s.Kinds))}
	most := 0
	for i, k := range s.Kinds {
		a.choices[i] = Choices(k.Action)
		if c := slices.Index(a.choices[i], 0); c >= 0 && k.MaskAfter != nil {
			return nil, fmt.Errorf("%s: kind %q has dependent masks, but component %d of its actions is not a choice: %v",
				s.ID, k.Name, c, k.Action)
		}
		for _, n := range a.choices[i] {
			most = max(most, n)
		}
	}
	a.mask = make([]bool, most)
	return a, nil
}

// Sample draws an action for every active agent of obs; the rows of the others become zero. An active agent without a
// legal choice is an error.
func (a *ActionSampler) Sample(s *rng.Stream, obs *Observation, act *Action) error {
	for i := range a.spec.Kinds {
		k, o := &a.spec.Kinds[i], &obs.Kinds[i]
		w, m := k.Action.Width(), k.Action.MaskWidth()
		for j := range k.Agents {
			row, mask := act.Kinds[i][j*w:(j+1)*w], o.MaskOf(j, m)
			var err error
			switch {
			case !o.Active[j]:
				clear(row)
			case k.MaskAfter != nil:
				err = a.sampleDependent(s, i, j, o, row)
			default:
				if err = a.legal(i, mask); err == nil {
					k.Action.Sample(s, mask, row)
				}
			}
			if err != nil {
				return fmt.Errorf("%s: action of %s %d: %w", a.spec.ID, k.Name, j, err)
			}
		}
	}
	return nil
}

// legal returns an error where a component of a kind's actions has no legal choice. No mask allows all.
func (a *ActionSampler) legal(kind int, mask []bool) error {
	if mask == nil {
		return nil
	}
	for c, n := range a.choices[kind] {
		if n > 0 && !slices.Contains(mask[:n], true) {
			return fmt.Errorf("component %d has no legal choice", c)
		}
		mask = mask[n:]
	}
	return nil
}

func (a *ActionSampler) sampleDependent(s *rng.Stream, kind, agent int, o *KindObservation, row []float32) error {
	for c, n := range a.choices[kind] {
		mask := a.mask[:n]
		if err := a.spec.Kinds[kind].MaskAfter(o, agent, row[:c], mask); err != nil {
			return fmt.Errorf("mask of component %d: %w", c, err)
		}
		if !slices.Contains(mask, true) {
			return fmt.Errorf("component %d has no legal choice after %v", c, row[:c])
		}
		row[c] = float32(sampleChoice(s, n, mask))
	}
	return nil
}
