package gnn

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/deeprm"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/train"
)

// Names in the zoo.
const (
	deepRMPrefix = "deeprm"
	gnnName      = "gnn-placement"
	dqnName      = "dqn-placement"
	scratchName  = "gnn-scratch"
	transferName = "gnn-transfer"
)

// trained is a policy that was trained, with what its manifest says of how.
type trained struct {
	source string // a checkpoint, as zoo:NAME
	x      *configs.Experiment
	file   *agents.PolicyFile
	steps  int64 // of training
}

// shipped are the zoo's policies whose names begin so.
func shipped(prefix string) ([]*trained, error) {
	var out []*trained
	for _, name := range zoo.Names() {
		if strings.HasPrefix(name, prefix) {
			t, err := open(zoo.Prefix + name)
			if err != nil {
				return nil, err
			}
			out = append(out, t)
		}
	}
	return out, nil
}

// the returns the zoo's policy of a name, nil where there is none.
func the(name string) (*trained, error) {
	for _, n := range zoo.Names() {
		if n == name {
			return open(zoo.Prefix + name)
		}
	}
	return nil, nil
}

// missing is the note on a policy that is not there.
func missing(name string) string {
	return fmt.Sprintf("%s%s does not play: this program's zoo has no such policy", zoo.Prefix, name)
}

func open(source string) (*trained, error) {
	ck, err := train.OpenCheckpoint(source)
	if err != nil {
		return nil, err
	}
	t := &trained{source: source, steps: ck.Header().Counters["steps"]}
	if t.x, err = train.ReadExperiment(ck, nil); err == nil {
		t.file, err = train.ReadPolicy(ck)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return t, nil
}

// player is the policy in an environment.
func (t *trained) player(newEnv func() (envs.Env, error)) player {
	return player{
		Entry: suite.Entry{
			Contestant: eval.Contestant{Name: t.source, Kind: catalog.Learned, Versions: []eval.Version{{
				TrainingSeed: t.x.Seed, Source: t.source,
				New: func(env envs.Env) (rollout.Actor, error) {
					p, err := t.policy(env.Spec())
					return rollout.Actor{Policy: p}, err
				},
			}}},
			NewEnv: newEnv,
		},
		draws: t.x.Eval.Stochastic, by: t,
	}
}

// policy makes the policy for an environment's spec, acting on the CPU.
func (t *trained) policy(spec *envs.Spec) (envs.Policy, error) {
	a, err := catalog.Default().Learner(t.file.Agent)
	if err != nil {
		return nil, err
	}
	act, err := engines.Open(engines.Native, engines.Options{Device: "cpu", Threads: 1})
	if err != nil {
		return nil, err
	}
	return a.Open(t.file, spec, act)
}

// onDeepRM is the policy on a cluster of DeepRM's, with the observation and mask that it was trained with; why says where it cannot play.
func (t *trained) onDeepRM(c deeprm.Config) (p player, why string) {
	own := t.deepRM()
	if own == nil {
		return p, fmt.Sprintf("it was trained in %s, want %s", t.x.Env.Name, deeprm.ID)
	}
	c.Observation, c.Greys, c.Since, c.Mask = own.Observation, own.Greys, own.Since, own.Mask
	rest := *own // all else must be the same, but rate, job sets and when a job may start
	rest.Rate, rest.Sets, rest.SetSeed, rest.Jobs, rest.Start, rest.End, rest.MaxTime = c.Rate, c.Sets, c.SetSeed, c.Jobs, c.Start, c.End, c.MaxTime
	if !reflect.DeepEqual(rest, c) {
		return p, "it was trained on another cluster, or other jobs"
	}
	return t.player(func() (envs.Env, error) { return catalog.Default().NewEnv(t.x.Env.Name, &c, workload.Config{}) }), ""
}

// onNodes is the policy in a world of unlike nodes; why says where it cannot play. Its own are what it sees and whether it may wait.
func (t *trained) onNodes(w *world) (p player, why string) {
	own, ok := t.x.Env.Config.(*placement.Config)
	if !ok {
		return p, fmt.Sprintf("it was trained in %s, want %s", t.x.Env.Name, placement.ID)
	}
	c := w.config
	if !reflect.DeepEqual(own.Nodes, c.Nodes) || !reflect.DeepEqual(own.Amounts, c.Amounts) {
		return p, "it was trained on other nodes, or with other amounts to give"
	}
	c.Hold, c.Wait, c.Tick, c.Window, c.Running, c.Weights = own.Hold, own.Wait, own.Tick, own.Window, own.Running, own.Weights
	newEnv := func() (envs.Env, error) { return catalog.Default().NewEnv(t.x.Env.Name, &c, w.load) }
	env, err := newEnv()
	if err != nil {
		return p, err.Error()
	}
	if _, err := t.policy(env.Spec()); err != nil {
		return p, err.Error()
	}
	return t.player(newEnv), ""
}

// serverless is the configuration that the policy was trained in; nil where that is another environment.
func (t *trained) serverless() *placement.Config {
	c, _ := t.x.Env.Config.(*placement.Config)
	return c
}

// deepRM is the same for DeepRM's cluster.
func (t *trained) deepRM() *deeprm.Config {
	c, _ := t.x.Env.Config.(*deeprm.Config)
	return c
}
