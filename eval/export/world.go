package export

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/train"
)

// world is where the policy is played again.
type world struct {
	x          *configs.Experiment
	split      string
	seeds      []uint64
	stochastic bool
	env        envs.Env
	spec       *envs.Spec
}

// trainingSeeds is the most seeds of the evaluation under which the policy is played in its training's environment too.
const trainingSeeds = 20

// worlds are the evaluation's, then the training's where it differs: a policy must be able to see what it has learned
// on, such as a dial that the evaluation held.
func (c *Collected) worlds(r *report, most int) (all []*world, err error) {
	defer func() {
		for _, w := range all {
			if most > 0 {
				w.seeds = w.seeds[:min(len(w.seeds), most)]
			}
		}
	}()
	x := c.trained.Experiment
	learned := &world{x: x, split: x.Workload.Split, stochastic: x.Eval.Stochastic}
	if learned.split == "all" {
		learned.split = "train"
	}
	if r == nil {
		learned.split = x.Eval.Split
		if learned.seeds, err = configs.ParseSeeds(x.Eval.Seeds); err != nil {
			return nil, err
		}
		return []*world{learned}, learned.open()
	}
	judged, err := r.world(x)
	if err != nil {
		return nil, err
	}
	if err := judged.open(); err != nil {
		return nil, err
	}
	same, err := judged.same(x)
	if err != nil || same {
		return []*world{judged}, err
	}
	learned.seeds = judged.seeds[:min(len(judged.seeds), trainingSeeds)]
	if err := learned.open(); err != nil {
		c.Notes = append(c.Notes, fmt.Sprintf("not played in its training's environment: %v", err))
		return []*world{judged}, nil
	}
	if !newWatcher(judged.spec).fits(learned.spec) {
		return []*world{judged}, nil // features of other widths have no ranges in common
	}
	return []*world{judged, learned}, nil
}

// world is that of the evaluation: the experiment with the evaluation's environment and workload.
func (r *report) world(x *configs.Experiment) (*world, error) {
	y := *x
	row, err := catalog.Of(x).Env(x.Env.Name)
	if err != nil {
		return nil, err
	}
	if r.Env != "" && r.Env != x.Env.Name {
		return nil, train.Usage("the evaluation is in %s, the policy acts in %s", r.Env, x.Env.Name)
	}
	y.Env.Config = row.Config()
	if err := json.Unmarshal(r.EnvConfig, y.Env.Config); err != nil {
		return nil, fmt.Errorf("the evaluation's environment: %w", err)
	}
	if y.Workload, err = workloadOf(r.Workload); err != nil {
		return nil, fmt.Errorf("the evaluation's workload: %w", err)
	}
	if err := y.Validate(); err != nil {
		return nil, fmt.Errorf("the evaluation's configuration: %w", err)
	}
	if len(r.Seeds) == 0 {
		return nil, fmt.Errorf("the evaluation has no seeds")
	}
	return &world{x: &y, split: r.Split, seeds: r.Seeds, stochastic: r.Stochastic}, nil
}

func (w *world) open() error {
	var err error
	if w.env, err = train.NewEnv(w.x, w.split); err != nil {
		return err
	}
	w.spec = w.env.Spec()
	return nil
}

// same reports whether the world has the environment and the load of an experiment. Which part of a trace is played,
// and where it lies, does not count.
func (w *world) same(x *configs.Experiment) (bool, error) {
	text := func(x *configs.Experiment) (string, error) {
		load, err := x.Workload.EachPath(func(string) (string, error) { return "", nil })
		if err != nil {
			return "", err
		}
		load.Split = ""
		b, err := json.Marshal([]any{x.Env.Config, load})
		return string(b), err
	}
	a, err := text(w.x)
	if err != nil {
		return false, err
	}
	b, err := text(x)
	return a == b, err
}

// sameAgents reports whether two specs have the same agents: their numbers, names, spaces and neighbours.
func sameAgents(a, b *envs.Spec) bool {
	return slices.EqualFunc(a.Kinds, b.Kinds, func(p, q envs.Kind) bool {
		return p.Name == q.Name && p.Agents == q.Agents && slices.Equal(p.Names, q.Names) &&
			reflect.DeepEqual(p.Observation, q.Observation) && reflect.DeepEqual(p.Action, q.Action) &&
			reflect.DeepEqual(p.Neighbours, q.Neighbours) && reflect.DeepEqual(p.Next, q.Next)
	})
}
