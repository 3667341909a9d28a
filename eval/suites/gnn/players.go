package gnn

import (
	"fmt"

	nodes "github.com/stoker-rl/stoker/agents/baselines/placement"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/deeprm"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval"
)

// player is a contestant with what the suites must know of it.
type player struct {
	eval.Contestant
	// stochastic says that it draws its actions, as it did when it was trained; else it takes the likeliest.
	stochastic bool
	// by is the trained policy; nil for rules.
	by *trained
}

// Names of rules, as tables and figures have them.
const (
	fcfsName    = "FCFS"
	sjfName     = "SJF"
	packerName  = "Packer"
	starName    = "Tetris*"
	tetrisName  = "Tetris"
	randomName  = "random"
	sjfSpread   = "SJF, spread"
	tetriSpread = "Tetris, spread"
)

// named is a rule of the catalog with its label; config is nil for its defaults.
type named struct {
	label, name string
	config      any
}

func rules(list []named, newEnv func() (envs.Env, error)) ([]player, error) {
	var out []player
	for _, n := range list {
		c, err := eval.Rival(n.label, n.name, n.config)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.label, err)
		}
		c.NewEnv = newEnv
		out = append(out, player{Contestant: c})
	}
	return out, nil
}

// deepRMRules are those of stoker/DeepRM-v1.
func deepRMRules(c deeprm.Config) ([]player, error) {
	return rules([]named{
		{fcfsName, "fcfs", nil}, {sjfName, "sjf", nil}, {packerName, "packer", nil}, {starName, "tetris-star", nil},
		{randomName, "random", nil},
	}, func() (envs.Env, error) { return catalog.Default().NewEnv(deeprm.ID, &c, workload.Config{}) })
}

// nodeRules are those of stoker/Placement-v2. The last two give amounts by how many wait, which the paper's rules do
// not: they show how much of a learned policy's lead is the choice of amounts alone.
func nodeRules(w *world) ([]player, error) {
	sjf, tetris := nodes.DefaultSJF(), nodes.DefaultTetris()
	sjf.Amount, tetris.Amount = nodes.Spread, nodes.Spread
	return rules([]named{
		{fcfsName, "fcfs-nodes", nil}, {sjfName, "sjf-nodes", nil}, {packerName, "packer-nodes", nil},
		{tetrisName, "tetris", nil}, {randomName, "random-nodes", nil},
		{sjfSpread, "sjf-nodes", &sjf}, {tetriSpread, "tetris", &tetris},
	}, func() (envs.Env, error) { return catalog.Default().NewEnv(placement.ID, &w.config, w.load) })
}
