package sizing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
)

// world is what a baseline knows of its environment.
type world struct {
	spec *envs.Spec
	rng  sizing.Range
	n    int // functions
}

func newWorld(name string, env envs.Env) (*sizing.Env, world, error) {
	e, ok := envs.As[*sizing.Env](env)
	if !ok {
		return nil, world{}, elsewhere(name, env)
	}
	s := e.Spec()
	return e, world{s, e.Range(), s.Kinds[0].Agents}, nil
}

// elsewhere is the error of a baseline in an environment for which it is not made.
func elsewhere(name string, env envs.Env) error {
	if m, ok := envs.As[*sizing.Many](env); ok {
		return fmt.Errorf("%s: acts in one workflow, but env.workflows puts %d side by side: compare on each of them, such as "+
			"by --set env.workflows=[] --set env.workflow=%s", name, len(m.Workflows()), m.Workflows()[0].Config().Workflow)
	}
	return fmt.Errorf("%s: acts in %s only, not in %s", name, strings.Join(sizing.IDs(), " and "), env.Spec().ID)
}

// action returns function f's part of an action.
func (w *world) action(a *envs.Action, f int) []float32 {
	k := w.rng.Components()
	return a.Kinds[0][f*k : (f+1)*k]
}

// feature returns the index of a feature in a function's observation, -1 where the environment does not show it.
func (w *world) feature(name string) int { return slices.Index(w.spec.Kinds[0].Features, name) }

// seen returns function f's part of an observation.
func (w *world) seen(o *envs.Observation, f int) []float32 {
	k := w.spec.Kinds[0].Observation.Width()
	return o.Kinds[0].Values[f*k : (f+1)*k]
}

// resources decodes a configuration of numbers in [0, 1]; a workflow without concurrency limits uses the first three.
func (w *world) resources(key string, a []float64) (sizing.Resources, error) {
	k := w.rng.Components()
	if len(a) < k || len(a) > 4 {
		return sizing.Resources{}, fmt.Errorf("%s has %d numbers, want %d: cpu, memory, replicas, concurrency", key, len(a),
			k)
	}
	var x [4]float32
	for i, v := range a[:k] {
		x[i] = float32(v)
	}
	return w.rng.Decode(x[:k]), nil
}

// checkShares reports numbers outside [0, 1].
func checkShares(key string, a []float64) error {
	if len(a) < 3 || len(a) > 4 {
		return bounds.Errorf(key, "has %d numbers, want 4: cpu, memory, replicas, concurrency (3 without concurrency)",
			len(a))
	}
	return nil
}

// middle is the middle of every range: the untuned configuration.
func middle() []float64 { return []float64{0.5, 0.5, 0.5, 0.5} }
