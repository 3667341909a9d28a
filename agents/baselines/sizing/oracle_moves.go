package sizing

import (
	"cmp"

	"github.com/stoker-rl/stoker/envs/sizing"
)

func cheaper(a, b remembered) int { return cmp.Compare(a.price, b.price) }

// sweep tries steps up and down of every component of every function of window h.
func (p *Oracle) sweep(h int) error {
	for i := range p.n {
		f := (i + int(p.decision)) % p.n // a budget must not always end before the same functions
		for _, change := range moves {
			copy(p.trial, p.best)
			r := &p.trial[f]
			change(r, &p.rng)
			if *r == p.best[f] {
				continue
			}
			if err := p.test(h); err != nil {
				return err
			}
		}
	}
	return nil
}

// moves are the changes of a function's configuration that a search tries.
var moves = func() []func(r *sizing.Resources, in *sizing.Range) {
	var out []func(r *sizing.Resources, in *sizing.Range)
	for _, by := range [...]float64{0.7, 0.85, 0.95, 1.1, 1.3} {
		out = append(out, func(r *sizing.Resources, in *sizing.Range) {
			r.CPU = scaled(r.CPU, by, in.Low.CPU, in.High.CPU)
		})
	}
	for _, by := range [...]float64{0.5, 0.8, 1.25, 2} {
		out = append(out, func(r *sizing.Resources, in *sizing.Range) {
			r.Memory = scaled(r.Memory, by, in.Low.Memory, in.High.Memory)
		})
	}
	for _, by := range [...]int{-2, -1, 1, 2} {
		out = append(out, func(r *sizing.Resources, in *sizing.Range) {
			r.Replicas = within(r.Replicas+by, in.Low.Replicas, in.High.Replicas)
		}, func(r *sizing.Resources, in *sizing.Range) {
			if in.Concurrency {
				r.Concurrency = within(r.Concurrency+by, in.Low.Concurrency, in.High.Concurrency)
			}
		})
	}
	// One replica fewer with more CPU each, and the reverse.
	for _, by := range [...]int{-1, 1} {
		out = append(out, func(r *sizing.Resources, in *sizing.Range) {
			n := within(r.Replicas+by, in.Low.Replicas, in.High.Replicas)
			r.CPU = scaled(r.CPU, float64(r.Replicas)/float64(n), in.Low.CPU, in.High.CPU)
			r.Replicas = n
		})
	}
	return out
}()

func within(x, low, high int) int { return min(max(x, low), high) }
