package catalog

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	envcatalog "github.com/stoker-rl/stoker/envs/catalog"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/workload"
)

// NewEnv builds the environment of an ID from a configuration of its type, with the policy inside that the configuration names: a
// follower is an agent, of which environments know nothing.
func NewEnv(id string, config any, w workload.Config) (envs.Env, error) {
	e, err := envcatalog.Find(id)
	if err != nil {
		return nil, err
	}
	c, ok := config.(*pricing.Config)
	if id != pricing.ID || !ok || c.Scheduler == pricing.ARMSName {
		return e.New(config, w)
	}
	// Where the configuration is wrong otherwise, that comes first.
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	r, err := find("scheduler", c.Scheduler, schedulers(), func(r Rival) string { return r.Name })
	if err != nil {
		return nil, fmt.Errorf("%s: scheduler: %w", id, err)
	}
	p, err := pricing.Compose(*c, w, func(s *pricing.Slots) (envs.Policy, error) {
		a, err := r.New(r.Config(), s)
		return a.Policy, err
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// schedulers are the policies that can be inside the pricing face.
func schedulers() []Rival {
	return slices.DeleteFunc(Rivals(), func(r Rival) bool { return !slices.Contains(r.Envs, pricing.SlotsID) })
}
