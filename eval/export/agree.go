package export

import (
	"context"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/policy"
)

// Agreement is how a bundle, opened as a serving program does it, decides beside the policy that it was made from, in
// the evaluation's first episode.
type Agreement struct {
	// Observations is how many were shown to both, Unequal at how many an action differed by more than rounding.
	Observations int `json:"observations"`
	Unequal      int `json:"unequal"`
	// Largest is the largest difference of a component.
	Largest float64 `json:"largest_difference"`
	// Fallbacks is how often the bundle's guard would not let the policy decide.
	Fallbacks int `json:"fallbacks"`
}

// rounding is how far components of equal actions may be apart.
const rounding = 1e-5

// Agree opens a bundle of the policy and plays the evaluation's first episode with both.
func (c *Collected) Agree(ctx context.Context, b []byte) (*Agreement, error) {
	served, err := Open(catalog.Of(c.trained.Experiment), b)
	if err != nil {
		return nil, err
	}
	own, err := c.trained.Policy(c.world.spec)
	if err != nil {
		return nil, err
	}
	out, a := served.NewAction(), &Agreement{}
	var failed error
	run := rollout.NewRunner(c.world.env)
	run.OnStep = func(s rollout.Step) {
		if failed != nil {
			return
		}
		d, err := served.Decide(ctx, s.Seen, out)
		if err != nil {
			failed = fmt.Errorf("step %d: %w", s.Number, err)
			return
		}
		a.Observations++
		if d.By != policy.ByPolicy {
			a.Fallbacks++
			return
		}
		most := 0.0
		for k, row := range s.Action.Kinds {
			for i, x := range row {
				most = max(most, math.Abs(float64(x-out.Kinds[k][i])))
			}
		}
		if a.Largest = max(a.Largest, most); most > rounding {
			a.Unequal++
		}
	}
	_, err = run.Episode(rollout.Actor{Policy: stoppable{own, ctx}}, c.world.seeds[0])
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, fmt.Errorf("the bundle, opened again: %w", err)
	}
	return a, nil
}
