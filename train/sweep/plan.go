package sweep

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/train"
)

// Plan is what a sweep is asked for. Together with the program's version it decides every byte of the runs.
type Plan struct {
	// Config is the path of the configuration as it was given, Text what stands in that file.
	Config string `json:"config"`
	Text   string `json:"text"`
	// Folder is where the command was given: a relative workload.path starts there.
	Folder string `json:"folder"`
	// Set are settings KEY=VALUE over the configuration, the same for all arms.
	Set []string `json:"set,omitempty"`
	// Grid and Random are the keys that are varied. An arm has one value of each axis of the grid and, where there are
	// random ranges, those of one trial.
	Grid   []Axis  `json:"grid,omitempty"`
	Random []Range `json:"random,omitempty"`
	// Trials is the number of draws from the ranges, Seed that of the draws.
	Trials int    `json:"trials,omitempty"`
	Seed   uint64 `json:"seed,omitempty"`
	// Seeds are the training seeds of every arm.
	Seeds []uint64 `json:"seeds"`
	// Metric is what the arms are ranked by; it changes no run.
	Metric string `json:"metric"`
}

// Axis is a key with the values that it takes, each written as behind --set KEY=.
type Axis struct {
	Key    string   `json:"key"`
	Values []string `json:"values"`
}

// Range is a key with the law from which its values are drawn, such as log(1e-5,1e-2).
type Range struct {
	Key string `json:"key"`
	Law Law    `json:"law"`
}

// Keys are the keys that are varied, in their order.
func (p *Plan) Keys() []string {
	var out []string
	for _, a := range p.Grid {
		out = append(out, a.Key)
	}
	for _, r := range p.Random {
		out = append(out, r.Key)
	}
	return out
}

// Load reads the configuration with the plan's settings and more over it.
func (p *Plan) Load(names configs.Catalog, more ...string) (*configs.Experiment, error) {
	x, err := configs.Parse(p.Config, []byte(p.Text), slices.Concat(p.Set, more), names)
	if err == nil && x.Workload.Path != "" && !filepath.IsAbs(x.Workload.Path) {
		x.Workload.Path = filepath.Join(p.Folder, x.Workload.Path)
	}
	return x, err
}

// fixed are the keys that a sweep does not vary, and why. One that ends with a dot stands for all below it.
var fixed = []struct{ key, why string }{
	{"seed", "the training seeds are those of --seeds"},
	{"name", "it changes no run; name the sweep with --name"},
	{"env.id", "results in different environments can't be ranked; make a sweep for each"},
	{"eval.", "it changes the comparison after training, not the training"},
	{"train.evaluate.metric", "all arms are ranked by one metric; see --metric"},
	{"train.log_every", "it changes no policy"},
	{"train.checkpoint.", "it changes no policy"},
}

// check reports what is wrong with a plan before any value is looked at.
func (p *Plan) check() error {
	keys := p.Keys()
	if len(keys) == 0 {
		return train.Usage("nothing is varied: give --grid KEY=VALUE,VALUE or --random KEY=LAW, " +
			"as in --grid agent.actor_rate=1e-4,3e-4")
	}
	for i, k := range keys {
		for _, f := range fixed {
			if k == f.key || (strings.HasSuffix(f.key, ".") && strings.HasPrefix(k, f.key)) {
				return train.Usage("key %s can't be varied: %s", k, f.why)
			}
		}
		if slices.Contains(keys[:i], k) {
			return train.Usage("key %s is varied twice, want all of its values in one --grid or --random", k)
		}
		for _, s := range p.Set {
			if set, _, _ := strings.Cut(s, "="); set == k {
				return train.Usage("key %s is given by --set and varied, want one of them", k)
			}
		}
	}
	switch {
	case len(p.Random) > 0 && p.Trials < 1:
		return train.Usage("--random needs --trials, the number of draws, as in --trials 20; it is %d", p.Trials)
	case len(p.Random) == 0 && p.Trials != 0:
		return train.Usage("--trials is given without --random, want both")
	case len(p.Seeds) == 0:
		return train.Usage("there are no training seeds, want --seeds 1-2 or so")
	}
	return nil
}

// Name is the sweep's name where none is given: the experiment's and the keys'.
func (p *Plan) Name(x *configs.Experiment) string {
	name := x.Name
	for _, k := range p.Keys() {
		name += "-" + configs.ShortKey(k, p.Keys())
	}
	if len(name) > 90 {
		return x.Name + "-sweep"
	}
	return name
}

func quoted(v []string) string { return fmt.Sprintf("[%s]", strings.Join(v, ", ")) }
