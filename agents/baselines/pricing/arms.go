package pricing

import (
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/pricing"
)

// ARMS is the paper's scheduler (Algorithm 2). It lies with the environment, since it is the follower in the pricing face's world.
type ARMS = pricing.ARMS

// NewARMS returns it for environments such as env, whose pool must have keep-alive vGPUs.
func NewARMS(c pricing.ARMSConfig, env envs.Env) (*ARMS, error) {
	w, err := newWorld("arms", env, pricing.Reserved)
	if err != nil {
		return nil, err
	}
	return pricing.NewARMS(c, w.cfg)
}
