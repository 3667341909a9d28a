// Package pricing holds HOPS' baselines for stoker/Pricing-v1 and stoker/PricingSlots-v1, one in each file: the
// schedulers [ARMS] (the paper's own), [Torpor], [HASGPU] and [MQFQ], which are policies of the slots environment, and
// the pricers [SPSS] (static prices) and PBA. A scheduler refuses a pool that it is not made for, and names the one it
// wants.
//
// Not here: the environments (envs/pricing), and Algorithm 1 (agents/spsa).
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

// Terms changes c so that a scheduler runs inside the pricing environment under the conditions that it is made for: the
// pool and its charges, the time of a load, and the patience after which a vGPU is given up. The rest of c stays.
// docs/agents/pricing-baselines.md says where these values come from.
func Terms(scheduler string, c *pricing.Config) error {
	d := pricing.Default()
	pool, load, patience, warm := d.Pool, d.Load, d.Patience, d.Layout.Warm
	switch scheduler {
	case pricing.ARMSName:
	case "torpor":
		// A swap from host memory takes one slot or none, with equal probability.
		pool, load = pricing.Fixed, 0.5
	case "has-gpu":
		pool, warm = pricing.Elastic, pricing.WarmShared
	case "mqfq-sticky":
		pool, patience = pricing.Fixed, 4
	default:
		return fmt.Errorf("scheduler is %q, want arms, torpor, has-gpu or mqfq-sticky", scheduler)
	}
	c.Scheduler, c.Pool, c.Load, c.Patience, c.Layout.Warm = scheduler, pool, load, patience, warm
	return nil
}
