package pricing

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs/pricing"
)

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
