package pricing

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/pricing"
)

// world is what a scheduler knows of its environment.
type world struct {
	cfg *pricing.Config
	n   int // functions
}

// newWorld finds the slots environment in env and checks its pool.
func newWorld(name string, env envs.Env, pool string) (world, error) {
	e, ok := envs.As[*pricing.Slots](env)
	if !ok {
		return world{}, fmt.Errorf("%s: acts in %s only, not in %s", name, pricing.SlotsID, env.Spec().ID)
	}
	c := e.Config()
	if c.Pool != pool {
		return world{}, fmt.Errorf("%s: the environment's pool is %s, want pool: %s", name, c.Pool, pool)
	}
	return world{c, e.Spec().Kinds[0].Agents}, nil
}

// rows checks the sizes of observation and action, clears the action and returns both.
func (w *world) rows(name string, obs *envs.Observation, act *envs.Action) (seen, do []float32, err error) {
	seen, do = obs.Kinds[0].Values, act.Kinds[0]
	if len(seen) != w.n*pricing.Sees || len(do) != w.n*pricing.Acts {
		return nil, nil, fmt.Errorf("%s: observes %d numbers, want %d of %s", name, len(seen), w.n*pricing.Sees,
			pricing.SlotsID)
	}
	clear(do)
	return seen, do, nil
}

// see is function f's feature in an observation.
func see(seen []float32, f, what int) float64 { return float64(seen[f*pricing.Sees+what]) }

// backlog is the number of function f's waiting jobs, late ones included.
func backlog(seen []float32, f int) int {
	return int(see(seen, f, pricing.SeesQueue)) + int(see(seen, f, pricing.SeesLate))
}
