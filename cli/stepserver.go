package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/remote"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/train"
)

// wanted is what a client of stoker step-server asks for.
type wanted struct {
	// Config is a configuration's file or a shipped one's name. Text, where it is given, is read in its place.
	Config string `json:"config"`
	Text   string `json:"text"`
	// Overrides are settings key=value.
	Overrides []string `json:"overrides"`
	// Split is the part of the workload: train, test or all.
	Split   string `json:"split"`
	Copies  int    `json:"copies"`
	Workers int    `json:"workers"` // 0: one per core
	// Memory names what [remote.Memory] maps.
	Memory string `json:"memory"`
	// Illegal says what becomes of a choice that the masks forbid: substitute or raise.
	Illegal string `json:"illegal"`
}

func stepServerCommand() *command {
	return &command{
		name: "step-server",
		run: func(c *call) (any, error) {
			s := remote.Server{Version: versionLine(), Open: c.openRemote}
			return nil, s.Serve(os.Stdin, os.Stdout)
		},
	}
}

// openRemote reads what a client asks for.
func (c *call) openRemote(request []byte) (func() (envs.Env, error), remote.Options, error) {
	w, o := wanted{Split: "train", Copies: 1, Illegal: "substitute"}, remote.Options{}
	if err := json.Unmarshal(request, &w); err != nil {
		return nil, o, fmt.Errorf("the request is no JSON of the expected form: %w", err)
	}
	if w.Illegal != "substitute" && w.Illegal != "raise" {
		return nil, o, fmt.Errorf("illegal is %q, want substitute or raise", w.Illegal)
	}
	if w.Split != "train" && w.Split != "test" && w.Split != "all" {
		return nil, o, fmt.Errorf("split is %q, want train, test or all", w.Split)
	}
	if w.Workers == 0 {
		w.Workers = runtime.GOMAXPROCS(0)
	}
	o = remote.Options{Copies: w.Copies, Workers: w.Workers, Substitute: w.Illegal == "substitute",
		Memory: remote.Memory(w.Memory), Actor: c.actor}
	x, err := c.wanted(&w)
	return func() (envs.Env, error) { return train.NewEnv(x, w.Split) }, o, err
}

// wanted reads a client's configuration.
func (c *call) wanted(w *wanted) (*configs.Experiment, error) {
	if w.Text == "" {
		return c.experiment(w.Config, w.Overrides)
	}
	x, err := configs.Parse(w.Config, []byte(w.Text), w.Overrides, c.Catalog)
	if err == nil {
		c.renamed(x)
	}
	return x, err
}

// actor makes a baseline with its defaults, or the policy of a run, a checkpoint or the zoo, for a copy.
func (c *call) actor(name string, env envs.Env) (remote.Actor, error) {
	r, err := c.Catalog.Baseline(name)
	if _, missing := os.Stat(name); err != nil && missing != nil && !strings.HasPrefix(name, zoo.Prefix) {
		return nil, fmt.Errorf("%w; nor is it the folder of a run or a checkpoint", err)
	}
	if err != nil {
		t, err := eval.OpenTrained(c.Catalog, name, nil)
		if err != nil {
			return nil, err
		}
		t.Threads = 1
		p, err := t.Policy(env.Spec())
		return decider{rollout.Actor{Policy: p}}, err
	}
	if id := env.Spec().ID; !r.In(id) {
		return nil, fmt.Errorf("%s is made for %s, not for %s", name, strings.Join(r.Envs, ", "), id)
	}
	a, err := r.New(r.Config(), env)
	if err == nil && a.Tuner != nil {
		return nil, fmt.Errorf("%s is no policy but a search, which needs outcomes; want a policy such as random", name)
	}
	return decider{a}, err
}

// decider is a policy or a planner, for one copy.
type decider struct{ rollout.Actor }

// Reset implements [remote.Actor].
func (d decider) Reset(seed uint64) error {
	seed = rollout.ActorSeed(seed) // what stoker eval gives, too
	if d.Policy != nil {
		return d.Policy.Reset(seed)
	}
	return d.Planner.Reset(seed)
}

// Act implements [remote.Actor].
func (d decider) Act(env envs.Env, obs *envs.Observation, act *envs.Action, deterministic bool) error {
	if d.Policy != nil {
		return d.Policy.Act(obs, act, deterministic)
	}
	return d.Planner.Plan(env, obs, act)
}
