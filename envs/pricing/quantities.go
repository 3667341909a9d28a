package pricing

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
)

// quantities lists what both environments report, in the order in which report writes it.
func (c *Config) quantities() []envs.Quantity {
	some, share := envs.AtLeast(0), envs.Share()
	q := []envs.Quantity{
		{Name: "profit", Unit: "money", Better: envs.Higher, Reduce: envs.Sum, AssumesService: true,
			Doc: "revenue less all costs (eq. 3)"},
		{Name: "revenue", Unit: "money", Better: envs.Higher, Reduce: envs.Sum, Bounds: some, AssumesService: true,
			Doc: "price × billing units of the jobs, as costs.revenue counts them"},
		{Name: "base", Unit: "money", Better: envs.Lower, Reduce: envs.Sum, Bounds: some, AssumesService: true,
			Doc: "cost of keep-alive vGPUs, or of the fixed pool"},
		{Name: "gpu", Unit: "money", Better: envs.Lower, Reduce: envs.Sum, Bounds: some, AssumesService: true,
			Doc: "cost of transient vGPUs"},
		{Name: "switch", Unit: "money", Better: envs.Lower, Reduce: envs.Sum, Bounds: some, AssumesService: true,
			Doc: "cost of the charged switches"},
		{Name: "sla", Unit: "money", Better: envs.Lower, Reduce: envs.Sum, Bounds: some, Doc: "penalties of violated jobs"},
		{Name: "arrived", Unit: "jobs", Better: envs.Neither, Reduce: envs.Sum, Bounds: some, Doc: "jobs that arrived"},
		{Name: "violated", Unit: "jobs", Better: envs.Lower, Reduce: envs.Sum, Bounds: some,
			Doc: "jobs that could not be done in time any more"},
		{Name: "served", Unit: "jobs", Better: envs.Higher, Reduce: envs.Sum, Bounds: some, Doc: "jobs that began"},
		{Name: "dropped", Unit: "jobs", Better: envs.Lower, Reduce: envs.Sum, Bounds: some,
			Doc: "late jobs that were given up"},
		{Name: "switches", Unit: "vGPUs", Better: envs.Lower, Reduce: envs.Sum, Bounds: some, AssumesService: true,
			Doc: "changes of function that are charged"},
		{Name: "redeployments", Unit: "vGPUs", Better: envs.Lower, Reduce: envs.Sum, Bounds: some, AssumesService: true,
			Doc: "changes of function on any vGPU: the like-for-like count"},
		{Name: "loads", Unit: "vGPUs", Better: envs.Lower, Reduce: envs.Sum, Bounds: some, AssumesService: true,
			Doc: "cold loads"},
		{Name: "utilisation", Unit: "of vGPUs", Better: envs.Neither, Reduce: envs.PerTime, Bounds: share,
			Doc: "vGPUs in service"},
		{Name: "deployed", Unit: "of vGPUs", Better: envs.Neither, Reduce: envs.PerTime, Bounds: share,
			Doc: "vGPUs that are on"},
		{Name: "violation_rate", Unit: "of jobs", Better: envs.Lower, Reduce: envs.Last, Bounds: share,
			Doc: "violated over arrived, since the episode began"},
	}
	for m := range c.Tiers {
		q = append(q,
			envs.Quantity{Name: fmt.Sprintf("price_%d", m+1), Unit: "per billing unit", Reduce: envs.Mean, Bounds: some,
				Doc: "the tier's price"},
			envs.Quantity{Name: fmt.Sprintf("share_%d", m+1), Unit: "of the potential load", Reduce: envs.Mean,
				Bounds: share, Doc: "the tier's share (eq. 1)"},
			envs.Quantity{Name: fmt.Sprintf("baseline_%d", m+1), Unit: "vGPUs", Reduce: envs.Mean, Bounds: some,
				Doc: "the tier's keep-alive vGPUs"},
			envs.Quantity{Name: fmt.Sprintf("arrived_%d", m+1), Unit: "jobs", Reduce: envs.Sum, Bounds: some,
				Doc: "the tier's jobs that arrived"},
			envs.Quantity{Name: fmt.Sprintf("violated_%d", m+1), Unit: "jobs", Better: envs.Lower, Reduce: envs.Sum,
				Bounds: some, Doc: "the tier's violations"},
		)
	}
	return q
}
