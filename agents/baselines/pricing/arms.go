package pricing

import (
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/pricing"
)

// ARMS is the paper's scheduler (Algorithm 2). It lies with the environment, since it is the follower in the pricing
// face's world.
type ARMS = pricing.ARMS

// NewARMS returns it for environments such as env, whose pool must have keep-alive vGPUs; where moves are to be made,
// it makes moves.
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
