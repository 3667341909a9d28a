package configs

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs/workload"
)

// Experiment is what a configuration file says.
type Experiment struct {
	// Name is the beginning of run names.
	Name string `yaml:"name" json:"name"`
	// Seed names all random streams of training.
	Seed uint64 `yaml:"seed" json:"seed"`
	// Env is the environment: its id, and its own keys.
	Env Choice `yaml:"env" json:"env"`
	// Workload is the load that the environment serves.
	Workload workload.Config `yaml:"workload" json:"workload"`
	// Agent is the learner: its name, and its own keys.
	Agent Choice `yaml:"agent" json:"agent"`
	// Train says how long training lasts and what it leaves behind.
	Train Train `yaml:"train" json:"train"`
	// Eval says how the trained policy is evaluated.
	Eval Eval `yaml:"eval" json:"eval"`
	// Engine says what computes.
	Engine Engine `yaml:"engine" json:"engine"`

	// Source is the file read; Problems in it are reported by its name.
	Source string `yaml:"-" json:"-"`
}

// Choice is a section that names one of several and then has its keys. Config is what the table gave for the name,
// filled in.
type Choice struct {
	Name   string
	Config any
	key    string // id or name: under which the file has Name
}

// Train says how long training lasts and what it leaves behind. Steps are environment steps, counted over all copies.
type Train struct {
	// Steps is the number of environment steps.
	Steps int64 `yaml:"steps" json:"steps"`
	// Copies is the number of environments that step together.
	Copies int `yaml:"copies" json:"copies"`
	// LogEvery is the number of steps between two lines of metrics.
	LogEvery int64 `yaml:"log_every" json:"log_every"`
	// Evaluate runs the policy without exploration during training; the best result decides the checkpoint best.
	Evaluate Evaluate `yaml:"evaluate" json:"evaluate"`
	// Checkpoint saves the whole state.
	Checkpoint Checkpoint `yaml:"checkpoint" json:"checkpoint"`
}

// Evaluate is the evaluation during training.
type Evaluate struct {
	// Every is the number of steps between two evaluations; 0 turns them off.
	Every int64 `yaml:"every" json:"every"`
	// Episodes is the number of episodes of each, always the same seeds.
	Episodes int `yaml:"episodes" json:"episodes"`
	// Metric is return, or a quantity that the environment reports; the better mean decides best.
	Metric string `yaml:"metric" json:"metric"`
}

// Checkpoint says when the state is saved and how many copies stay.
type Checkpoint struct {
	// Every is the number of steps between two checkpoints; 0 saves only at the end.
	Every int64 `yaml:"every" json:"every"`
	// Keep is the number of checkpoints that stay, beside latest and best; 0 keeps all.
	Keep int `yaml:"keep" json:"keep"`
}

// Eval says how the trained policy is compared with its rivals.
type Eval struct {
	// Seeds are the workload seeds, the same for every policy: "1-20" or "1,2,5".
	Seeds string `yaml:"seeds" json:"seeds"`
	// Split of the trace that evaluation sees: test, train or all.
	Split string `yaml:"split" json:"split"`
	// Metrics are the quantities compared, the first one foremost; empty means all that have a better direction.
	Metrics []string `yaml:"metrics" json:"metrics"`
	// Scatter are the two quantities of the cost-against-violations figure, x first; Series those drawn over time, one panel each.
	Scatter []string `yaml:"scatter" json:"scatter"`
	Series  []string `yaml:"series" json:"series"`
	// Rivals are the policies beside the learned one: names, each with its own keys.
	Rivals []Choice `yaml:"rivals" json:"rivals"`
	// Resamples is the number of bootstrap resamples.
	Resamples int `yaml:"resamples" json:"resamples"`
	// Stochastic lets the learned policy draw its actions.
	Stochastic bool `yaml:"stochastic" json:"stochastic"`
}

// Engine says what computes. Only name, dtype and, for torch, threads and device can change results.
type Engine struct {
	// Name is native, torch or gorgonia.
	Name string `yaml:"name" json:"name"`
	// Device is auto, cpu or cuda:N.
	Device string `yaml:"device" json:"device"`
	// DType is float32 or float64.
	DType string `yaml:"dtype" json:"dtype"`
	// Threads bounds the threads of one operation; 0 leaves it to the engine.
	Threads int `yaml:"threads" json:"threads"`
	// Workers is the number of goroutines that step environments; 0 is one per core.
	Workers int `yaml:"workers" json:"workers"`
}

// Default returns what stands where a file says nothing.
func Default() Experiment {
	return Experiment{
		Seed:     1,
		Workload: workload.Default(),
		Train: Train{Steps: 50_000, Copies: 8, LogEvery: 1_000,
			Evaluate: Evaluate{Every: 5_000, Episodes: 10, Metric: "return"}, Checkpoint: Checkpoint{Every: 10_000, Keep: 3}},
		Eval:   Eval{Seeds: "1-20", Split: "test", Resamples: 10_000},
		Engine: Engine{Name: "native", Device: "auto", DType: "float32"},
	}
}

// validator is implemented by the configurations of environments and agents.
type validator interface{ Validate() error }

// check returns the first thing wrong with the values, by its key.
func (e *Experiment) check() error {
	bad := func(key string, got any, want string) error {
		return fmt.Errorf("%s is %v, want %s", key, got, want)
	}
	t := &e.Train
	switch {
	case e.Name == "":
		return fmt.Errorf("name is missing, want a short name for the experiment's runs")
	case t.Steps < 1:
		return bad("train.steps", t.Steps, "at least 1")
	case t.Copies < 1:
		return bad("train.copies", t.Copies, "at least 1")
	case t.LogEvery < 1:
		return bad("train.log_every", t.LogEvery, "at least 1")
	case t.Evaluate.Every < 0:
		return bad("train.evaluate.every", t.Evaluate.Every, "0 (never) or more")
	case t.Evaluate.Every > 0 && t.Evaluate.Episodes < 1:
		return bad("train.evaluate.episodes", t.Evaluate.Episodes, "at least 1")
	case t.Checkpoint.Every < 0:
		return bad("train.checkpoint.every", t.Checkpoint.Every, "0 (only at the end) or more")
	case t.Checkpoint.Keep < 0:
		return bad("train.checkpoint.keep", t.Checkpoint.Keep, "0 (all) or more")
	case e.Eval.Resamples < 100:
		return bad("eval.resamples", e.Eval.Resamples, "at least 100")
	case !slices.Contains([]string{"test", "train", "all"}, e.Eval.Split):
		return bad("eval.split", fmt.Sprintf("%q", e.Eval.Split), "test, train or all")
	case !slices.Contains([]string{"native", "torch", "gorgonia"}, e.Engine.Name):
		return bad("engine.name", fmt.Sprintf("%q", e.Engine.Name), "native, torch or gorgonia")
	case !slices.Contains([]string{"float32", "float64"}, e.Engine.DType):
		return bad("engine.dtype", fmt.Sprintf("%q", e.Engine.DType), "float32 or float64")
	case e.Engine.Threads < 0:
		return bad("engine.threads", e.Engine.Threads, "0 or more")
	case e.Engine.Workers < 0:
		return bad("engine.workers", e.Engine.Workers, "0 or more")
	}
	if err := checkDevice(e.Engine.Device); err != nil {
		return err
	}
	if _, err := ParseSeeds(e.Eval.Seeds); err != nil {
		return fmt.Errorf("eval.seeds: %w", err)
	}
	sections := []struct {
		key string
		v   any
	}{{"workload", &e.Workload}, {"env", e.Env.Config}, {"agent", e.Agent.Config}}
	for i, r := range e.Eval.Rivals {
		sections = append(sections, struct {
			key string
			v   any
		}{fmt.Sprintf("eval.rivals[%d]", i), r.Config})
	}
	for _, s := range sections {
		if v, ok := s.v.(validator); ok {
			if err := v.Validate(); err != nil {
				return fmt.Errorf("%s: %w", s.key, err)
			}
		}
	}
	return nil
}

func checkDevice(d string) error {
	var n int
	if d == "auto" || d == "cpu" {
		return nil
	}
	if c, err := fmt.Sscanf(d, "cuda:%d", &n); c == 1 && err == nil && n >= 0 && d == fmt.Sprintf("cuda:%d", n) {
		return nil
	}
	return fmt.Errorf("engine.device is %q, want auto, cpu or cuda:N", d)
}
