package gnn

import (
	"fmt"
	"reflect"

	nodes "github.com/stoker-rl/stoker/agents/baselines/placement"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/deeprm"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval"
)

// player is a contestant with what the suites must know of it.
type player struct {
	eval.Contestant
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
		c, err := eval.Baseline(n.label, n.name, n.config)
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

// Names in the zoo.
const (
	deepRMPrefix = "deeprm"
	gnnName      = "gnn-placement"
	dqnName      = "dqn-placement"
	scratchName  = "gnn-scratch"
	transferName = "gnn-transfer"
)

// trained is a policy that was trained.
type trained struct{ *eval.Trained }

// shipped are the zoo's policies whose names begin so.
func shipped(prefix string) (out []*trained, err error) {
	all, err := eval.ShippedLike(prefix)
	for _, t := range all {
		out = append(out, &trained{t})
	}
	return out, err
}

// fromZoo returns the zoo's policy of a name, nil where there is none.
func fromZoo(name string) (*trained, error) {
	t, err := eval.Shipped(name)
	if t == nil || err != nil {
		return nil, err
	}
	return &trained{t}, nil
}

// missing is the note on a policy that is not there.
func missing(name string) string {
	return fmt.Sprintf("%s%s does not play: this program's zoo has no such policy", zoo.Prefix, name)
}

// player is the policy in an environment. It draws its actions where it did when it was trained; else it takes the
// likeliest.
func (t *trained) player(newEnv func() (envs.Env, error)) player {
	c := t.Contestant(newEnv)
	c.Stochastic = t.Experiment.Eval.Stochastic
	return player{Contestant: c, by: t}
}

// onDeepRM is the policy on a cluster of DeepRM's, with the observation and mask that it was trained with; why says
// why it cannot play there, empty where it can.
func (t *trained) onDeepRM(c deeprm.Config) (p player, why string) {
	own := t.deepRM()
	if own == nil {
		return p, fmt.Sprintf("it was trained in %s, want %s", t.Experiment.Env.Name, deeprm.ID)
	}
	c.Observation, c.Greys, c.Since, c.Mask = own.Observation, own.Greys, own.Since, own.Mask
	rest := *own // all else must be the same, but rate, job sets and when a job may start
	rest.Rate, rest.Sets, rest.SetSeed, rest.Jobs = c.Rate, c.Sets, c.SetSeed, c.Jobs
	rest.Start, rest.End, rest.MaxTime = c.Start, c.End, c.MaxTime
	if !reflect.DeepEqual(rest, c) {
		return p, "it was trained on another cluster, or other jobs"
	}
	return t.player(func() (envs.Env, error) {
		return catalog.Default().NewEnv(t.Experiment.Env.Name, &c, workload.Config{})
	}), ""
}

// onNodes is the policy in a world of unlike nodes, with what it sees and whether it may wait as in its training; why
// is as above.
func (t *trained) onNodes(w *world) (p player, why string) {
	own, ok := t.Experiment.Env.Config.(*placement.Config)
	if !ok {
		return p, fmt.Sprintf("it was trained in %s, want %s", t.Experiment.Env.Name, placement.ID)
	}
	c := w.config
	if !reflect.DeepEqual(own.Nodes, c.Nodes) || !reflect.DeepEqual(own.Amounts, c.Amounts) {
		return p, "it was trained on other nodes, or with other amounts to give"
	}
	c.Hold, c.Wait, c.Tick, c.Window, c.Running, c.Weights = own.Hold, own.Wait, own.Tick, own.Window, own.Running,
		own.Weights
	newEnv := func() (envs.Env, error) { return catalog.Default().NewEnv(t.Experiment.Env.Name, &c, w.load) }
	return t.player(newEnv), t.Misfit(newEnv)
}

// serverless is the configuration that the policy was trained in; nil where that is another environment.
func (t *trained) serverless() *placement.Config {
	c, _ := t.Experiment.Env.Config.(*placement.Config)
	return c
}

// deepRM is the same for DeepRM's cluster.
func (t *trained) deepRM() *deeprm.Config {
	c, _ := t.Experiment.Env.Config.(*deeprm.Config)
	return c
}
