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
	w, err := newWorld("arms", env, pricing.Reserved)
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
