package sizing

import (
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs/sizing"
)

// remembered is a configuration from which searches start.
type remembered struct {
	price     float64
	resources []sizing.Resources
}

// menu returns configurations that give functions CPU in proportion to their work in a request, with several sums of
// CPU, limits of CPU and concurrency limits.
func (w *world) menu(e *sizing.Env) []remembered {
	r, platform, demand := &w.rng, e.Config().Platform, e.Demand()
	var total float64
	for _, d := range demand {
		total += d
	}
	limits := []int{r.Low.Concurrency}
	if r.Concurrency {
		limits = []int{r.High.Concurrency, (r.Low.Concurrency + r.High.Concurrency) / 2, r.Low.Concurrency + 1}
	}
	least := float64(w.n*r.Low.CPU*r.Low.Replicas) / 1000
	most := min(float64(w.n*r.High.CPU*r.High.Replicas), float64(e.Machines()*platform.CPU)) / 1000
	var out []remembered
	for cores := most; cores > least; cores /= math.Sqrt2 {
		for _, part := range [...]float64{1, 0.75, 0.5} {
			for _, limit := range limits {
				rs := make([]sizing.Resources, w.n)
				for f, d := range demand {
					cpu := scaled(r.High.CPU, part, r.Low.CPU, r.High.CPU)
					n := cores * d / total * 1000 / float64(cpu)
					replicas := scaled(1, n, r.Low.Replicas, r.High.Replicas)
					rs[f] = sizing.Resources{
						CPU: scaled(cpu, min(1, n/float64(replicas)), r.Low.CPU, r.High.CPU), Memory: (r.Low.Memory + r.High.Memory) / 2,
						Replicas: replicas, Concurrency: limit,
					}
				}
				out = append(out, remembered{e.Hourly(rs), rs})
			}
		}
	}
	return out
}

// scaled is x times a factor, rounded and within limits.
func scaled(x int, by float64, low, high int) int {
	return int(min(max(math.Round(float64(x)*by), float64(low)), float64(high)))
}

// remember stores a configuration for later searches, in the order of prices. A full memory loses the entry nearest in
// price: prices spread the memory over the range, so that one is missed least.
func (p *Oracle) remember(rs []sizing.Resources) {
	price := p.try.Hourly(rs)
	at, near := 0, 0
	for i := range p.memory {
		m := &p.memory[i]
		if slices.Equal(m.resources, rs) {
			return
		}
		if m.price <= price {
			at = i + 1
		}
		if math.Abs(m.price-price) < math.Abs(p.memory[near].price-price) {
			near = i
		}
	}
	if len(p.memory) < p.config.Memory {
		p.memory = slices.Insert(p.memory, at, remembered{price, slices.Clone(rs)})
		return
	}
	p.memory[near].price = price
	copy(p.memory[near].resources, rs)
	slices.SortStableFunc(p.memory, cheaper)
}
