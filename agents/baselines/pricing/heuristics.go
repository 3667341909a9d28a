// Package pricing holds HOPS' baselines for stoker/Pricing-v1 and stoker/PricingSlots-v1: the schedulers [ARMS] (the
// paper's own), [Torpor], [HASGPU] and [MQFQ], which are policies of the slots environment, and the pricers [SPSS]
// (static prices) and PBA. A scheduler refuses a pool that it is not made for, and names the one it wants.
//
// Not here: the environments (envs/pricing), and Algorithm 1 (agents/spsa).
package pricing

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/spsa"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/pricing"
)

// ARMS is the paper's scheduler (Algorithm 2). Its code is in envs/pricing, because the pricing environment runs it
// inside.
type ARMS = pricing.ARMS

// NewARMS returns ARMS for environments such as env, whose pool must have keep-alive vGPUs. Where the environment's
// actions are moves, ARMS returns moves.
func NewARMS(c pricing.ARMSConfig, env envs.Env) (envs.Policy, error) {
	w, err := newWorld(pricing.ARMSName, env, pricing.Reserved)
	if err != nil {
		return nil, err
	}
	p, err := pricing.NewARMS(c, w.cfg)
	if err != nil {
		return nil, err
	}
	if s, ok := envs.As[*pricing.Slots](env); ok && w.cfg.Acts == pricing.ActsMoves {
		return pricing.NewMover(p, s), nil
	}
	return p, nil
}

// NewPBA returns the paper's pricer (Algorithm 1) within one episode, for environments such as env. It starts at the
// configured action, tries actions on a copy of env, and moves after every window. The units of its steps come from the
// configuration, not from env.
func NewPBA(c spsa.Config, env envs.Env) (*spsa.Planner, error) {
	e, ok := envs.As[*pricing.Pricing](env)
	if !ok {
		return nil, fmt.Errorf("pba: acts in %s only, not in %s", pricing.ID, env.Spec().ID)
	}
	try, err := e.NewEnv(nil)
	if err != nil {
		return nil, fmt.Errorf("pba: %w", err)
	}
	return spsa.NewPlanner(c, try)
}

// SPSSConfig configures [SPSS].
type SPSSConfig struct {
	// Prices and Baselines are the tiers' prices and keep-alive vGPUs. The paper states neither. The price of 1 decides
	// the comparison of profits; the baselines are an even split of 43 vGPUs. 8, 15 and 20, where HOPS ends, are
	// stronger.
	Prices    []float64 `yaml:"prices" json:"prices" range:"[0,1e6]"`
	Baselines []int     `yaml:"baselines" json:"baselines" range:"[0,2^16]"`
}

// DefaultSPSS returns price 1 and an even split.
func DefaultSPSS() SPSSConfig {
	return SPSSConfig{Prices: []float64{1, 1, 1}, Baselines: []int{14, 14, 15}}
}

// Validate reports the first field that is wrong in any environment.
func (c *SPSSConfig) Validate() error {
	if err := bounds.Check(c); err != nil {
		return err
	}
	if len(c.Prices) != len(c.Baselines) || len(c.Prices) == 0 {
		return bounds.Errorf("prices", "has %d numbers and baselines %d, want one of each for every tier", len(c.Prices),
			len(c.Baselines))
	}
	return nil
}

// SPSS is the paper's ablation of HOPS: static pricing with separate scheduling. It is a policy of the pricing
// environment, which runs the paper's scheduler inside.
type SPSS struct{ pricing.Static }

// NewSPSS returns the policy for environments such as env.
func NewSPSS(c SPSSConfig, env envs.Env) (*SPSS, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("spss: %w", err)
	}
	e, ok := envs.As[*pricing.Pricing](env)
	if !ok {
		return nil, fmt.Errorf("spss: acts in %s only, not in %s", pricing.ID, env.Spec().ID)
	}
	held := *e.Config()
	held.Prices, held.Baselines = c.Prices, c.Baselines
	if err := held.Validate(); err != nil {
		return nil, fmt.Errorf("spss: %w", err)
	}
	return &SPSS{*pricing.NewStatic(&held)}, nil
}

// Name implements [envs.Policy].
func (*SPSS) Name() string { return "spss" }

// CopyFrom implements [envs.Policy].
func (p *SPSS) CopyFrom(src envs.Policy) error {
	s, ok := src.(*SPSS)
	if !ok {
		return fmt.Errorf("spss: cannot be copied from a %T", src)
	}
	return p.Static.CopyFrom(&s.Static)
}

// world is what a scheduler knows of its environment.
type world struct {
	cfg *pricing.Config
	n   int // functions
}

// newWorld finds the slots environment in env and checks its pool and what is decided.
func newWorld(name string, env envs.Env, pool string) (world, error) {
	e, ok := envs.As[*pricing.Slots](env)
	if !ok {
		return world{}, fmt.Errorf("%s: acts in %s only, not in %s", name, pricing.SlotsID, env.Spec().ID)
	}
	c := e.Config()
	if c.Pool != pool {
		return world{}, fmt.Errorf("%s: the environment's pool is %s, want pool: %s", name, c.Pool, pool)
	}
	if c.Acts == pricing.ActsMoves && name != pricing.ARMSName {
		return world{}, fmt.Errorf("%s: the environment's acts is %s, want %s", name, c.Acts, pricing.ActsCounts)
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
