package pricing

import (
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
