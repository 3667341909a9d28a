package catalog

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/workload"
)

// NewEnv builds the environment of an id from a configuration of its type. Where the configuration names a policy that
// acts inside the environment (the scheduler of stoker/Pricing-v1), NewEnv looks it up among the rivals: environments
// know no policies.
func (c *Catalog) NewEnv(id string, config any, w workload.Config) (envs.Env, error) {
	e, err := c.Env(id)
	if err != nil {
		return nil, err
	}
	p, ok := config.(*pricing.Config)
	if id != pricing.ID || !ok || p.Scheduler == pricing.ARMSName {
		return e.New(config, w)
	}
	// Other mistakes in the configuration are reported first.
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	r, err := find("scheduler", p.Scheduler, c.schedulers(), func(r Rival) string { return r.Name })
	if err != nil {
		return nil, fmt.Errorf("%s: scheduler: %w", id, err)
	}
	env, err := pricing.Compose(*p, w, func(s *pricing.Slots) (envs.Policy, error) {
		a, err := r.New(r.Config(), s)
		return a.Policy, err
	})
	if err != nil {
		return nil, err
	}
	return env, nil
}

// schedulers are the rivals that can act inside stoker/Pricing-v1.
func (c *Catalog) schedulers() []Rival {
	return slices.DeleteFunc(slices.Clone(c.Rivals), func(r Rival) bool {
		return !slices.Contains(r.Envs, pricing.SlotsID)
	})
}
