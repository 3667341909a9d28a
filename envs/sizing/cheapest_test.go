package sizing

import (
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs/workload"
)

// Cheapest is the cheapest configuration that a search found to keep the QoS under a number of users.
type Cheapest struct {
	QoS QoS `json:"qos"`
	// Price is in USD per hour, 0 where nothing was found.
	Price     float64     `json:"price"`
	Resources []Resources `json:"resources"`
	// Violated is the share of windows that miss the QoS, under seeds that the search has not seen. Latency is the mean
	// of their successes, Successes their number in a window, Success their share of the requests that ended.
	Violated  float64 `json:"violated"`
	Latency   float64 `json:"latency"`
	Successes float64 `json:"successes"`
	Success   float64 `json:"success"`
	// Trials is the number of configurations simulated.
	Trials int `json:"trials"`
}

// Cheapest searches for the cheapest configuration that keeps the QoS in nine of ten windows under a number of users:
//
//  1. Of the configurations that spread CPU over the functions in proportion to the work of a request, for several
//     limits of CPU and concurrency, the one with the least CPU that keeps the QoS.
//  2. One or two of its components are changed, as long as it keeps the QoS at a lower price.
//  3. The search picks the luckiest of many, so 200 windows under other seeds decide: the result is the cheapest of the
//     configurations on its way that keeps the QoS in these, too.
//
// The price is an upper bound of the least one. trials bounds the number of configurations simulated.
func (c Config) Cheapest(users workload.UsersConfig, trials int) (Cheapest, error) {
	s, err := newSearch(c, &users)
	if err != nil {
		return Cheapest{}, err
	}
	d := &descent{search: s, users: users.Count, budget: trials}
	found, err := d.run()
	found.QoS, found.Trials = s.config.thresholds(s.app, users.Count), s.trials
	return found, err
}

// descent is a search for the cheapest configuration.
type descent struct {
	*search
	users, budget int
	best          []Resources
	price         float64
	way           [][]Resources // the best so far, ever cheaper
}

// The search asks for a little more than the proof does, as it picks the luckiest of many configurations.
const (
	cheapestWindows  = 60
	cheapestViolated = 0.08
)

func (d *descent) run() (Cheapest, error) {
	d.bound, d.price, d.config.Windows = capacityViolated, math.Inf(1), cheapestWindows
	if err := d.begin(); err != nil {
		return Cheapest{}, err
	}
	for improved := d.best != nil; improved && d.trials < d.budget; {
		before := d.price
		if err := d.pass(); err != nil {
			return Cheapest{}, err
		}
		improved = d.price < before
	}
	d.bound, d.config.Windows, d.seed = 1, 2*capacityProof, 2
	for _, rs := range slices.Backward(d.way) {
		t, err := d.search.try(d.users, rs)
		if err != nil || t.kept() {
			return Cheapest{Price: d.env.Hourly(rs), Resources: rs, Violated: t.violated, Latency: t.latency,
				Successes: t.successes, Success: t.success}, err
		}
	}
	return Cheapest{}, nil
}

// offer makes a configuration the best if it is cheaper and keeps the QoS.
func (d *descent) offer(rs []Resources) error {
	if rs == nil || d.trials >= d.budget {
		return nil
	}
	if err := d.open(d.users); err != nil {
		return err
	}
	price := d.env.Hourly(rs)
	if price >= d.price {
		return nil
	}
	t, err := d.try(d.users, rs)
	if err == nil && t.violated <= cheapestViolated {
		d.best, d.price = rs, price
		d.way = append(d.way, rs)
	}
	return err
}

// begin finds the first configuration: it takes CPU from those that spread it until they miss the QoS.
func (d *descent) begin() error {
	rng := &d.app.rng
	limits := []int{rng.Low.Concurrency}
	if rng.Concurrency {
		limits = []int{rng.High.Concurrency, (rng.Low.Concurrency + rng.High.Concurrency) / 2, 2}
	}
	for _, part := range [...]float64{1, 0.9, 0.8, 0.65, 0.5, 0.35, 0.25, 0.18, 0.13, 0.09} {
		for _, cpu := range [...]float64{1, 0.75, 0.5, 0.3} {
			for _, limit := range limits {
				if err := d.offer(d.share(part*d.cores(), int(cpu*float64(rng.High.CPU)), limit)); err != nil {
					return err
				}
			}
		}
	}
	if d.best != nil {
		return nil
	}
	d.bound = 1
	rs, _, err := d.reach(d.users)
	d.bound = capacityViolated
	if err != nil {
		return err
	}
	return d.offer(rs)
}

// pass tries every change of one component, every trade of CPU or replicas within a function, and CPU moved from one
// function to another.
func (d *descent) pass() error {
	rng := &d.app.rng
	for f := range d.best {
		for _, change := range cheaper {
			rs := rng.with(d.best, func(rs []Resources) { change(&rs[f]) })
			if err := d.offer(rs); err != nil {
				return err
			}
		}
	}
	for f := range d.best {
		for g := range d.best {
			if f == g {
				continue
			}
			for _, by := range [...]float64{0.6, 0.8} {
				rs := rng.with(d.best, func(rs []Resources) { scale(&rs[f].CPU, 1.15); scale(&rs[g].CPU, by) })
				if err := d.offer(rs); err != nil {
					return err
				}
			}
			rs := rng.with(d.best, func(rs []Resources) { rs[f].Replicas++; rs[g].Replicas-- })
			if err := d.offer(rs); err != nil {
				return err
			}
		}
	}
	return nil
}

func scale(x *int, by float64) { *x = int(math.Round(float64(*x) * by)) }

// cheaper are changes of one function. With another concurrency limit less CPU or fewer replicas may do.
var cheaper = func() []func(r *Resources) {
	var out []func(r *Resources)
	for _, more := range [...]int{0, -2, -1, 1, 2, 4} {
		for _, cpu := range [...]float64{0.5, 0.7, 0.85, 0.95} {
			out = append(out, func(r *Resources) { r.Concurrency += more; scale(&r.CPU, cpu) })
		}
		out = append(out, func(r *Resources) { r.Concurrency += more; r.Replicas-- })
	}
	for _, memory := range [...]float64{0.3, 0.5, 0.8, 0.93} {
		out = append(out, func(r *Resources) { scale(&r.Memory, memory) })
	}
	for _, by := range [...]int{-3, -2, -1, 1, 2, 3} {
		for _, total := range [...]float64{0.75, 0.9, 0.97} {
			out = append(out, func(r *Resources) {
				before := r.Replicas
				r.Replicas = max(1, r.Replicas+by)
				scale(&r.CPU, total*float64(before)/float64(r.Replicas))
			})
		}
	}
	return out
}()
