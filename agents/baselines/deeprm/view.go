// Package deeprm holds the rules that learned schedulers are compared with on stoker/DeepRM-v1.
//
// [FCFS] starts the oldest job, [SJF] the shortest, [Packer] the one whose demand aligns best with the free resources,
// [TetrisStar] weighs length against alignment, and [Random] starts any. All but strict FCFS start jobs for as long as
// one fits and only then let time pass; none books a later start. They read the observation, image or compact, and
// nothing else.
//
// Not here: policies that learn; the rules for unlike nodes (agents/baselines/placement).
package deeprm

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/baselines/internal/kept"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/deeprm"
)

// view reads from an observation what a rule needs.
type view struct {
	deeprm.Layout
	// exact says that the mask shows which jobs fit now: where the environment masks, and starts are not booked ahead.
	exact bool
}

func newView(name string, env envs.Env) (view, error) {
	e, ok := envs.As[*deeprm.Env](env)
	if !ok {
		return view{}, fmt.Errorf("%s: acts in %s only, not in %s", name, deeprm.ID, env.Spec().ID)
	}
	c := e.Config()
	return view{deeprm.NewLayout(&c), c.Mask && c.Start == deeprm.StartNow}, nil
}

// fits reports whether the job in a place fits now for its whole length.
func (v *view) fits(o *envs.KindObservation, place int) bool {
	if v.exact {
		return o.Mask[place]
	}
	return v.compare(o, place)
}

// compare is fits from the observation alone, for environments whose mask does not show it.
func (v *view) compare(o *envs.KindObservation, place int) bool {
	n := v.Length(o.Values, place)
	for r := range v.Resources {
		d := v.Demand(o.Values, place, r)
		for t := range n {
			if v.Free(o.Values, r, t) < d {
				return false
			}
		}
	}
	return n > 0
}

// alignment is Σ_r free_r·demand_r in this time step: the larger, the better the job uses the free resources.
func (v *view) alignment(values []float32, place int) int {
	a := 0
	for r := range v.Resources {
		a += v.Free(values, r, 0) * v.Demand(values, place, r)
	}
	return a
}

// choose writes an action; a place below 0 lets time pass.
func (v *view) choose(act *envs.Action, place int) {
	if place < 0 {
		place = v.Visible
	}
	act.Kinds[0][0] = float32(place)
}

// stateless is a rule that reads the present observation only.
type stateless struct {
	kept.Stateless
	view
}

func newStateless(name string, env envs.Env) (stateless, error) {
	v, err := newView(name, env)
	return stateless{kept.Stateless(name), v}, err
}
