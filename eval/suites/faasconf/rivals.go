package faasconf

import (
	"github.com/stoker-rl/stoker/agents/baselines/sizing"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	sizingenv "github.com/stoker-rl/stoker/envs/sizing"
)

// By how many percent FaaSConf is cheaper than its rivals, on average (§5.2.1).
const (
	paperFirm     = 24.0
	paperRAMBO    = 23.0
	paperAquatope = 28.0
	paperRandom   = 31.0
)

// withLimit is added to the name of a rival that decides the concurrency limit too. The paper's rivals decide hardware
// alone.
const withLimit = " + limit"

// searches are the paper's rivals that search without learning, each as published and with the limit. Aquatope as
// published asks for the latency alone, and drifts to configurations that refuse most requests; a second one asks for
// every threshold.
func searches() []method {
	var out []method
	for _, r := range []struct {
		name   string
		saving float64
		tuner  func(env envs.Env) (envs.Tuner, error)
	}{
		{"rambo", paperRAMBO, func(env envs.Env) (envs.Tuner, error) {
			return sizing.NewRAMBO(sizing.DefaultRAMBO(), env)
		}},
		{"aquatope", paperAquatope, func(env envs.Env) (envs.Tuner, error) {
			return sizing.NewAquatope(sizing.DefaultAquatope(), env)
		}},
		{"aquatope, all thresholds", 0, func(env envs.Env) (envs.Tuner, error) {
			c := sizing.DefaultAquatope()
			c.Constraint = "qos"
			return sizing.NewAquatope(c, env)
		}},
		{"random-search", paperRandom, func(env envs.Env) (envs.Tuner, error) {
			return sizing.NewRandomSearch(sizing.DefaultRandomSearch(), env)
		}},
	} {
		m := method{
			name: r.name, decide: sizingenv.Hardware, saving: r.saving, versions: 1,
			actor: func(_ *app, env envs.Env, _ int) (rollout.Actor, error) {
				t, err := r.tuner(env)
				return rollout.Actor{Tuner: t}, err
			},
		}
		out = append(out, m)
		m.name, m.decide, m.only = r.name+withLimit, sizingenv.Hybrid, []string{sizingenv.Parallel}
		out = append(out, m)
	}
	return out
}
