package pricing

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs/pricing"
)

// Terms has a scheduler play inside c's pricing face, on the terms that it is made for: the pool with what is charged
// in it, the time of a load, when a vGPU is given up. All else of c stays. docs/agents/pricing-baselines.md says where
// the terms come from.
func Terms(scheduler string, c *pricing.Config) error {
	d := pricing.Default()
	pool, load, patience, warm := d.Pool, d.Load, d.Patience, d.Layout.Warm
	switch scheduler {
	case pricing.ARMSName:
	case "torpor":
		// A swap from host memory: a slot or none, each as likely.
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
