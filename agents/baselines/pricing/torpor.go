package pricing

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents/baselines/internal/kept"
	"github.com/stoker-rl/stoker/agents/internal/saved"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/state"
)

// TorporConfig configures [Torpor].
type TorporConfig struct {
	// Percentile is the share of a function's requests that should be in time.
	Percentile float64 `yaml:"percentile" json:"percentile" range:"[0,0.9999]"`
	// Heavy is the mean service, in slots, from which on a model counts as heavy: light models are evicted first.
	Heavy float64 `yaml:"heavy" json:"heavy" range:"[0,1e9]"`
}

// DefaultTorpor returns the published percentile. The threshold of heavy models is ours: the tier with the longest
// service.
func DefaultTorpor() TorporConfig { return TorporConfig{Percentile: 0.98, Heavy: 1.15} }

// Validate reports the first wrong field.
func (c *TorporConfig) Validate() error { return bounds.Check(c) }

// Torpor assigns requests to vGPUs late, on a fixed pool. Any idle vGPU may serve any function after a swap (the
// environment's load; 0.5 slots is recommended); a vGPU with the function's model needs no swap. Functions that can
// still reach their percentile come first, ordered by the number of further requests in time that this takes (the
// required request count). The evicted model is one that has another copy, else a light one, else the least recently
// used one.
//
// A vGPU holds one model, so a swap over NVLink and one over PCIe cost the same here, and the published order of GPUs
// has no effect.
type Torpor struct {
	kept.Policy
	world
	config          TorporConfig
	arrived, failed []float64 // in this window, by function
	threshold       float64   // theta
	// Buffers of one slot.
	rrc, wait []float64
	order     []int32
	idle      []int
	need      []int // vGPUs that the functions later in the order need
	sorted    []float64
	less      func(a, b int32) int
}

// NewTorpor returns the scheduler for environments such as env.
func NewTorpor(c TorporConfig, env envs.Env) (*Torpor, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("torpor: %w", err)
	}
	w, err := newWorld("torpor", env, pricing.Fixed)
	if err != nil {
		return nil, err
	}
	p := &Torpor{world: w, config: c, order: make([]int32, w.n), idle: make([]int, w.n), need: make([]int, w.n)}
	p.Policy = kept.As("torpor", p)
	for _, s := range []*[]float64{&p.arrived, &p.failed, &p.rrc, &p.wait, &p.sorted} {
		*s = make([]float64, w.n)
	}
	p.less = p.before
	return p, nil
}

// Reset implements [envs.Policy].
func (p *Torpor) Reset(uint64) error {
	clear(p.arrived)
	clear(p.failed)
	p.threshold = 0
	return nil
}

// required is the required request count: after n requests, m of them in time, (p·n - m)/(1 - p) further ones in time
// bring the function back to percentile p.
func (p *Torpor) required(n, m float64) float64 {
	return (float64(p.config.Percentile*n) - m) / (1 - p.config.Percentile)
}

// before orders functions: those at or below the threshold first, then by required count, then by how long their first
// request has waited.
func (p *Torpor) before(a, b int32) int {
	if high := p.rrc[a] <= p.threshold; high != (p.rrc[b] <= p.threshold) {
		if high {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(p.rrc[a], p.rrc[b]), cmp.Compare(p.wait[b], p.wait[a]), cmp.Compare(a, b))
}

// count adds a slot's arrivals and failures. At the beginning of a window the threshold becomes the median of the
// required counts, and the counts start at zero.
func (p *Torpor) count(seen []float32) {
	if see(seen, 0, pricing.SeesLeft) == 1 {
		for f := range p.n {
			p.sorted[f] = p.required(p.arrived[f], p.arrived[f]-p.failed[f])
		}
		slices.Sort(p.sorted)
		p.threshold = p.sorted[(p.n-1)/2]
		clear(p.arrived)
		clear(p.failed)
	}
	for f := range p.n {
		p.arrived[f] += see(seen, f, pricing.SeesArrived)
		p.failed[f] += see(seen, f, pricing.SeesViolated)
		// Waiting requests are not in time yet.
		m := max(0, p.arrived[f]-p.failed[f]-see(seen, f, pricing.SeesQueue))
		p.rrc[f], p.wait[f] = p.required(p.arrived[f], m), see(seen, f, pricing.SeesWait)
		p.order[f] = int32(f)
	}
	slices.SortFunc(p.order, p.less)
}

// Act implements [envs.Policy].
func (p *Torpor) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	seen, do, err := p.rows(p.Name(), obs, act)
	if err != nil {
		return err
	}
	p.count(seen)
	blank := int(see(seen, 0, pricing.SeesOff))
	for f := range p.n {
		p.idle[f] = int(see(seen, f, pricing.SeesIdle))
		p.need[f] = max(0, backlog(seen, f)-int(see(seen, f, pricing.SeesLoading)))
	}
	for _, f32 := range p.order {
		f := int(f32)
		need := p.need[f]
		p.need[f] = 0
		warm := int(see(seen, f, pricing.SeesWarm))
		if own := min(p.idle[f], need); own > 0 { // resident and available: no swap
			p.idle[f] -= own
			need -= own
		}
		for ; need > 0; need-- {
			switch {
			case blank > 0 && warm > 0:
				do[f*pricing.Acts+pricing.ActWarm]++
				blank, warm = blank-1, warm-1
				continue
			case blank > 0:
				blank--
			default:
				g := p.evict(seen, do, f)
				if g < 0 {
					need = 0
					continue
				}
				p.idle[g]--
				do[g*pricing.Acts+pricing.ActRelease]++
			}
			do[f*pricing.Acts+pricing.ActCold]++
		}
	}
	return nil
}

// evict is the function whose idle vGPU is taken for f, -1 where none is idle: one with another copy, else a light one,
// else the least recently used, which also decides ties. Functions behind f in the order that would use their vGPU at
// once are taken last; this is our addition.
func (p *Torpor) evict(seen, do []float32, f int) int {
	best, rank := -1, 0
	for g := range p.n {
		if g == f || p.idle[g] == 0 {
			continue
		}
		r := 0
		if see(seen, g, pricing.SeesTransient)-float64(do[g*pricing.Acts+pricing.ActRelease]) > 1 {
			r = 2
		} else if see(seen, g, pricing.SeesService) < p.config.Heavy {
			r = 1
		}
		if p.idle[g] > p.need[g] {
			r += 3
		}
		if best < 0 || r > rank || r == rank && see(seen, g, pricing.SeesIdleSince) > see(seen, best, pricing.SeesIdleSince) {
			best, rank = g, r
		}
	}
	return best
}

// State implements [state.Stater].
func (p *Torpor) State(c *state.Codec) {
	state.Fixed(c, p.arrived)
	state.Fixed(c, p.failed)
	state.Value(c, &p.threshold)
	saved.Finite(c, "arrivals", p.arrived...)
	saved.Finite(c, "failures", p.failed...)
	saved.Finite(c, "threshold", p.threshold)
}
