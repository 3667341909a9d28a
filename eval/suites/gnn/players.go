package gnn

import (
	"fmt"

	nodes "github.com/stoker-rl/stoker/agents/baselines/placement"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/deeprm"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/suite"
)

// player is who plays, and in what.
type player struct {
	suite.Entry
	// draws says that it draws its actions, as it did when it was trained; else it takes the likeliest.
	draws bool
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

// rule is a rule of the catalog; config is nil for its defaults.
func rule(label, name string, config any, newEnv func() (envs.Env, error)) (player, error) {
	r, err := catalog.Default().Rival(name)
	if err != nil {
		return player{}, err
	}
	if config == nil {
		config = r.Config()
	}
	newActor := func(env envs.Env) (rollout.Actor, error) { return r.New(config, env) }
	return player{Entry: suite.Entry{
		Contestant: eval.Contestant{Name: label, Kind: r.Kind, Versions: []eval.Version{{New: newActor}}}, NewEnv: newEnv,
	}}, nil
}

// named is a rule with its label.
type named struct {
	label, name string
	config      any
}

func rules(list []named, newEnv func() (envs.Env, error)) ([]player, error) {
	var out []player
	for _, n := range list {
		p, err := rule(n.label, n.name, n.config, newEnv)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.label, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// deepRMRules are those of stoker/DeepRM-v1.
func deepRMRules(c deeprm.Config) ([]player, error) {
	return rules([]named{{fcfsName, "fcfs", nil}, {sjfName, "sjf", nil}, {packerName, "packer", nil}, {starName, "tetris-star", nil}, {randomName, "random", nil}},
		func() (envs.Env, error) { return catalog.Default().NewEnv(deeprm.ID, &c, workload.Config{}) })
}

// nodeRules are those of stoker/Placement-v2. The last two give amounts by how many wait, which the paper's rules do not: a control
// of what of a learned policy's lead is the choice of amounts alone.
func nodeRules(w *world) ([]player, error) {
	sjf, tetris := nodes.DefaultSJF(), nodes.DefaultTetris()
	sjf.Amount, tetris.Amount = nodes.Spread, nodes.Spread
	return rules([]named{
		{fcfsName, "fcfs-nodes", nil}, {sjfName, "sjf-nodes", nil}, {packerName, "packer-nodes", nil}, {tetrisName, "tetris", nil}, {randomName, "random-nodes", nil},
		{sjfSpread, "sjf-nodes", &sjf}, {tetriSpread, "tetris", &tetris},
	}, func() (envs.Env, error) { return catalog.Default().NewEnv(placement.ID, &w.config, w.load) })
}
