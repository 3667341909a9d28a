package pricing

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/spsa"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/pricing"
)

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
