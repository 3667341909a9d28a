package misses

import (
	"fmt"
	"strings"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/atmiss"
)

// prefix is how the names of the zoo's policies begin that configure steps.
const prefix = "steps"

// learned are the zoo's policies for a world, and why others cannot play there.
func learned(c steps.EnvConfig) (all []atmiss.Method, why []string, err error) {
	for _, name := range zoo.Names() {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		t, err := eval.Shipped(name)
		if err != nil {
			return nil, nil, err
		}
		if t == nil {
			continue
		}
		t.Threads = 1
		m, reason := shown(t, zoo.Prefix+name, c)
		if reason != "" {
			why = append(why, fmt.Sprintf("%s%s does not play: %s", zoo.Prefix, name, reason))
			continue
		}
		all = append(all, m)
	}
	return all, why, nil
}

// shown is a policy as a method: the price of a miss that it is shown is what trades cost against misses.
func shown(t *eval.Trained, source string, c steps.EnvConfig) (m atmiss.Method, why string) {
	own, ok := t.Experiment.Env.Config.(*steps.EnvConfig)
	if !ok {
		return m, "it was trained in " + t.Experiment.Env.Name
	}
	world := *own
	world.Workflow, world.First, world.Apps, world.Steps, world.Shape = c.Workflow, c.First, c.Apps, c.Steps, c.Shape
	world.SLO, world.Oracle, world.Platform = c.SLO, c.Oracle, c.Platform
	world.Requests, world.Rate = c.Requests, c.Rate // a policy of streams plays requests alone too
	newEnv := func(miss float64) (envs.Env, error) {
		w := world
		w.Miss = []float64{miss, miss}
		return catalog.Default().NewEnv(t.Experiment.Env.Name, &w, workload.Default())
	}
	env, err := newEnv(1)
	if err != nil {
		return m, err.Error()
	}
	if _, err := t.Policy(env.Spec()); err != nil {
		return m, err.Error()
	}
	return atmiss.Method{Name: source, Setting: "miss", Values: prices, Make: func(miss float64) (eval.Contestant, error) {
		return eval.Contestant{Name: source, Kind: catalog.Learned, Versions: []eval.Version{t.Version(source)},
			NewEnv: func() (envs.Env, error) { return newEnv(miss) }}, nil
	}}, ""
}
