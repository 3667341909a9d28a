package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/catalog"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/train"
)

// Choice is who is compared and in what.
type Choice struct {
	// Experiment is that of the first checkpoint, with the caller's settings over it: its environment, workload and eval section
	// hold for everybody.
	Experiment  *configs.Experiment
	Contestants []Contestant
	// Runs are the run folders among the sources, for learning curves, with the contestant they belong to.
	Runs []RunOf
}

// RunOf is a run folder and its contestant's name.
type RunOf struct{ Dir, Contestant string }

// Choose reads what names stand for: run folders, checkpoints, or names of rivals. Runs whose configurations are equal but for
// the seed form one contestant. Rivals that the experiment lists are added, unless the caller named some.
func Choose(paths []string, config string, sets []string) (*Choice, error) {
	c := &Choice{}
	var rivals []configs.Choice
	groups := map[string]int{}
	for _, path := range paths {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			r, err := catalog.FindRival(path)
			if err != nil {
				return nil, fmt.Errorf("%s is neither a run nor a checkpoint, and there is %w", path, err)
			}
			rivals = append(rivals, configs.Choice{Name: r.Name, Config: r.Config()})
			continue
		}
		if err := c.addLearned(path, sets, groups); err != nil {
			return nil, err
		}
	}
	if config != "" {
		x, err := configs.Load(config, sets, train.Tables())
		if err != nil {
			return nil, err
		}
		c.Experiment = x
	}
	if c.Experiment == nil {
		return nil, errors.New("no run or checkpoint names an environment: give one with --config")
	}
	if len(rivals) == 0 {
		rivals = c.Experiment.Eval.Rivals
	}
	for _, r := range rivals {
		if err := c.addRival(r); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *Choice) addLearned(path string, sets []string, groups map[string]int) error {
	ck, err := train.OpenCheckpoint(path)
	if err != nil {
		return err
	}
	x, err := train.ReadExperiment(ck, sets)
	if err != nil {
		return err
	}
	if c.Experiment == nil {
		c.Experiment = x
	}
	if x.Env.Name != c.Experiment.Env.Name {
		return fmt.Errorf("%s acts in %s, the others in %s: they cannot be compared", path, x.Env.Name, c.Experiment.Env.Name)
	}
	file, err := train.ReadPolicy(ck)
	if err != nil {
		return err
	}
	key, err := withoutSeed(ck)
	if err != nil {
		return err
	}
	v := Version{TrainingSeed: x.Seed, Source: ck.Dir(), New: opener(file)}
	at, ok := groups[key]
	if !ok {
		at = len(c.Contestants)
		groups[key] = at
		c.Contestants = append(c.Contestants, Contestant{Name: c.freeName(x.Name), Kind: catalog.Learned})
	}
	con := &c.Contestants[at]
	if slices.ContainsFunc(con.Versions, func(o Version) bool { return o.TrainingSeed == v.TrainingSeed }) {
		return fmt.Errorf("%s: seed %d of %s is there already", path, v.TrainingSeed, con.Name)
	}
	con.Versions = append(con.Versions, v)
	if _, err := os.Stat(path + "/metrics.jsonl"); err == nil {
		c.Runs = append(c.Runs, RunOf{path, con.Name})
	}
	return nil
}

// withoutSeed returns a checkpoint's configuration without seed and name, as text to compare.
func withoutSeed(ck *checkpoints.Checkpoint) (string, error) {
	var m map[string]any
	if err := json.Unmarshal(ck.Header().Config, &m); err != nil {
		return "", fmt.Errorf("%s: config: %w", ck.Dir(), err)
	}
	delete(m, "seed")
	b, err := json.Marshal(m)
	return string(b), err
}

// freeName returns name, numbered where a contestant has it already.
func (c *Choice) freeName(name string) string {
	for n := 1; ; n++ {
		try := name
		if n > 1 {
			try = fmt.Sprintf("%s-%d", name, n)
		}
		if !slices.ContainsFunc(c.Contestants, func(o Contestant) bool { return o.Name == try }) {
			return try
		}
	}
}

// opener returns a function that makes the policy of a file. Policies act on the CPU engine.
func opener(file *agents.PolicyFile) func(envs.Env) (rollout.Actor, error) {
	return func(env envs.Env) (rollout.Actor, error) {
		a, err := catalog.FindAgent(file.Agent)
		if err != nil {
			return rollout.Actor{}, err
		}
		act, err := engines.Open(engines.Native, engines.Options{Device: "cpu"})
		if err != nil {
			return rollout.Actor{}, err
		}
		p, err := a.Open(file, env.Spec(), act)
		return rollout.Actor{Policy: p}, err
	}
}

func (c *Choice) addRival(choice configs.Choice) error {
	r, err := catalog.FindRival(choice.Name)
	if err != nil {
		return err
	}
	if len(r.Envs) > 0 && !slices.Contains(r.Envs, c.Experiment.Env.Name) {
		return fmt.Errorf("%s is made for %v, not for %s", r.Name, r.Envs, c.Experiment.Env.Name)
	}
	c.Contestants = append(c.Contestants, Contestant{
		Name: c.freeName(r.Name), Kind: r.Kind,
		Versions: []Version{{New: func(env envs.Env) (rollout.Actor, error) { return r.New(choice.Config, env) }}},
	})
	return nil
}
