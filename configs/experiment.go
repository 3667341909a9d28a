// Package configs reads experiments: one YAML file says what world is faced, who learns in it, for how long, and how
// the result is evaluated.
//
// Reading is strict: an unknown or ill-typed key is an error with file, line, what stands there and what is allowed.
// Keys can be set over the file (--set key=value). The sections env and agent have the keys of the environment and the
// agent that they name; who those are is told by [Tables], so that this package knows no environment and no agent.
//
// Applications of package variants are read the same way ([ReadApp]).
//
// The experiments shipped with Stoker are embedded and found by their path, as in sizing/attmf.yaml.
package configs

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

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
	// Wrappers change what the learner sees of the environment, and when episodes end.
	Wrappers Wrappers `yaml:"wrappers,omitempty" json:"wrappers,omitzero"`
	// Agent is the learner: its name, and its own keys. Keys that are left out have what works in the environment, which
	// stoker train --print-config shows, or the learner's defaults.
	Agent Choice `yaml:"agent" json:"agent"`
	// Train says how long training lasts and what it leaves behind.
	Train Train `yaml:"train" json:"train"`
	// Eval says how the trained policy is evaluated.
	Eval Eval `yaml:"eval" json:"eval"`
	// Engine says what computes.
	Engine Engine `yaml:"engine" json:"engine"`

	// Source is the file read; Problems in it are reported by its name.
	Source string `yaml:"-" json:"-"`
	// DefaultBaselines says that eval.baselines are the environment's baselines, since the file names none.
	DefaultBaselines bool `yaml:"-" json:"-"`
	// Renamed has a sentence for each key of the text or of a setting that has another name now.
	Renamed []string `yaml:"-" json:"-"`
	// Catalog is that with which the experiment was read: whose names it has.
	Catalog Catalog `yaml:"-" json:"-"`
}

// Choice is a section that names one of several and then has its keys. Config is what the table gave for the name,
// filled in.
type Choice struct {
	Name   string
	Config any
	key    string // id or name: under which the file has Name
}

// Wrappers change what the learner sees of the environment, and when episodes end. A section that is left out is as the
// environment has it for the learner, or off; a clip of 0 is off. Keys left out of a section that stands there are as in
// Stable-Baselines3's VecNormalize: clip 10, gamma 0.99.
type Wrappers struct {
	// TimeLimit truncates episodes after this number of steps, in training and in evaluation; 0 is the environment's
	// own limit.
	TimeLimit int `yaml:"time_limit,omitempty" json:"time_limit,omitempty" range:"[0,2^31]"`
	// NormalizeObservation standardises observations by their running mean and deviation.
	NormalizeObservation NormalizeObservation `yaml:"normalize_observation,omitempty" json:"normalize_observation,omitzero"`
	// NormalizeReward divides rewards by the running deviation of the discounted return.
	NormalizeReward NormalizeReward `yaml:"normalize_reward,omitempty" json:"normalize_reward,omitzero"`
}

// NormalizeObservation standardises what agents see. The statistics are the policy's: in evaluation they do not change.
type NormalizeObservation struct {
	// Clip bounds a standardised observation to ±clip: 10 where the section leaves it out; 0 is off.
	Clip float64 `yaml:"clip" json:"clip" range:"[0,1e6]"`
}

// NormalizeReward scales the rewards that the learner sees. Returns of episodes and evaluations stay the environment's.
type NormalizeReward struct {
	// Gamma discounts the return whose deviation divides rewards: 0.99 where the section leaves it out. The learner's own
	// gamma suits.
	Gamma float64 `yaml:"gamma" json:"gamma" range:"[0,1]"`
	// Clip bounds a scaled reward to ±clip: 10 where the section leaves it out; 0 is off.
	Clip float64 `yaml:"clip" json:"clip" range:"[0,1e6]"`
}

// Train says how long training lasts and what it leaves behind. Steps are environment steps, counted over all copies.
type Train struct {
	// Steps is the number of environment steps.
	Steps int64 `yaml:"steps" json:"steps" range:"[1,]"`
	// Envs is the number of environments that step together: n_envs or num_envs elsewhere.
	Envs int `yaml:"envs" json:"envs" range:"[1,2^20]"`
	// LogEvery is the number of steps between two lines of metrics.
	LogEvery int64 `yaml:"log_every" json:"log_every" range:"[1,]"`
	// Evaluate runs the policy without exploration during training; the best result decides the checkpoint best.
	Evaluate Evaluate `yaml:"evaluate" json:"evaluate"`
	// Checkpoint saves the whole state.
	Checkpoint Checkpoint `yaml:"checkpoint" json:"checkpoint"`
	// Library, where it names a file, is all that is learned from: no step is taken in the environment.
	Library Library `yaml:"library,omitempty" json:"library,omitzero"`
}

// Library is a library of runs to learn from. Steps are then updates, each from a minibatch of its rows; copies has no
// effect.
type Library struct {
	// Path is the file, as stoker library writes it.
	Path string `yaml:"path" json:"path"`
	// Digest is the SHA-256 of the file, in hex. A run writes it down; where it is given, another file is refused.
	Digest string `yaml:"digest,omitempty" json:"digest,omitempty"`
}

// Evaluate is the evaluation during training.
type Evaluate struct {
	// Every is the number of steps between two evaluations; 0 turns them off.
	Every int64 `yaml:"every" json:"every" range:"[0,]"`
	// Episodes is the number of episodes of each, always the same seeds.
	Episodes int `yaml:"episodes" json:"episodes"`
	// Metric is return, or a quantity that the environment reports; the better mean decides best.
	Metric string `yaml:"metric" json:"metric"`
}

// Checkpoint says when the state is saved and how many copies stay.
type Checkpoint struct {
	// Every is the number of steps between two checkpoints; 0 saves only at the end.
	Every int64 `yaml:"every" json:"every" range:"[0,]"`
	// Keep is the number of checkpoints that stay, beside latest and best; 0 keeps all.
	Keep int `yaml:"keep" json:"keep" range:"[0,]"`
}

// Eval says how the trained policy is compared with its baselines.
type Eval struct {
	// Seeds are the workload seeds, the same for every policy: "1-20" or "1,2,5".
	Seeds string `yaml:"seeds" json:"seeds"`
	// Split of the trace that evaluation sees: test, train or all.
	Split string `yaml:"split" json:"split" oneof:"test|train|all"`
	// Set are settings that hold in evaluation alone, as --set takes them: env.reward.dial=[1] where training draws it.
	Set []string `yaml:"set,omitempty" json:"set,omitempty"`
	// Metrics are the quantities compared, the first one foremost; empty means all that have a better direction.
	Metrics []string `yaml:"metrics" json:"metrics"`
	// Constraint is the quantity that has to be kept at least as well before a policy counts as better. Empty means the
	// environment's, none that there is none.
	Constraint string `yaml:"constraint" json:"constraint"`
	// Objective is the quantity that is compared where the constraint is kept. Empty means the environment's.
	Objective string `yaml:"objective" json:"objective"`
	// RelativeTolerance is by how much less well a constraint may be kept and still counts as kept, as a part of the other
	// policy's distance from the best value: 0.1 is a tenth more violations. What is worse beyond chance is never kept.
	RelativeTolerance float64 `yaml:"relative_tolerance" json:"relative_tolerance" range:"[0,1]"`
	// Scatter are the two quantities of the figure that sets one against the other, as cost and violations; x first.
	Scatter []string `yaml:"scatter" json:"scatter"`
	// Series are the quantities drawn over time, one panel each.
	Series []string `yaml:"series" json:"series"`
	// Baselines are the policies beside the learned one: names, each with its own keys. Where the key is left out they are the
	// environment's baselines; [] is none.
	Baselines []Choice `yaml:"baselines" json:"baselines"`
	// Resamples is the number of bootstrap resamples.
	Resamples int `yaml:"resamples" json:"resamples" range:"[100,]"`
	// Stochastic lets the learned policy draw its actions.
	Stochastic bool `yaml:"stochastic" json:"stochastic"`
}

// Engine says what computes. Only name, dtype and, for torch, threads, device and deterministic can change results.
type Engine struct {
	// Name is native, torch or gorgonia.
	Name string `yaml:"name" json:"name" oneof:"native|torch|gorgonia"`
	// Device is auto, cpu or cuda:N.
	Device string `yaml:"device" json:"device"`
	// DType is float32 or float64.
	DType string `yaml:"dtype" json:"dtype" oneof:"float32|float64"`
	// Threads bounds the threads of one operation; 0 leaves it to the engine.
	Threads int `yaml:"threads" json:"threads" range:"[0,]"`
	// Deterministic has CUDA repeat results to the bit, at a price in speed; on the CPU they repeat as it is.
	Deterministic bool `yaml:"deterministic" json:"deterministic"`
	// Workers is the number of goroutines that step environments; 0 is one per core.
	Workers int `yaml:"workers" json:"workers" range:"[0,]"`
}

// Default returns what stands where a file says nothing.
func Default() Experiment {
	return Experiment{
		Seed:     1,
		Workload: workload.Default(),
		Train: Train{Steps: 50_000, Envs: 8, LogEvery: 1_000,
			Evaluate: Evaluate{Every: 5_000, Episodes: 10, Metric: "return"}, Checkpoint: Checkpoint{Every: 10_000, Keep: 3}},
		Eval:   Eval{Seeds: "1-20", Split: "test", RelativeTolerance: 0.1, Resamples: 10_000},
		Engine: Engine{Name: "native", Device: "auto", DType: "float32"},
	}
}

// Preset is what works for a learner in an environment. A configuration has it where its file leaves the key out.
type Preset struct {
	// Agent has keys of the section agent, as YAML: "gamma: 0.5".
	Agent string
	// Wrappers are on where the file has no section of that name.
	Wrappers Wrappers
}

// Presetter is a [Catalog] that knows what works in an environment.
type Presetter interface {
	// Preset returns what works for a learner there; it may be empty.
	Preset(env, agent string) Preset
	// DefaultBaselines returns the list eval.baselines, as YAML, of a file that has none; it may be empty.
	DefaultBaselines(env string) string
}

// plain hides that a catalog has presets.
type plain struct{ Catalog }

// ParseResolved is Parse for a text that [Experiment.YAML] or a checkpoint wrote, which holds every key: a key that is not
// there has the default that it had when the text was written, not a preset.
func ParseResolved(source string, text []byte, sets []string, t Catalog) (*Experiment, error) {
	x, err := Parse(source, text, sets, plain{t})
	if err == nil {
		x.Catalog = t
	}
	return x, err
}

// preset returns what a catalog has for the experiment's environment and learner, empty where it has no presets.
func preset(t Catalog, env, agent string) Preset {
	if p, ok := t.(Presetter); ok {
		return p.Preset(env, agent)
	}
	return Preset{}
}

// presetAgent is t.AgentConfig with the preset of an environment in it.
func presetAgent(t Catalog, env string) func(name string) (any, error) {
	return func(name string) (any, error) {
		c, err := t.AgentConfig(name)
		text := preset(t, env, name).Agent
		if err != nil || text == "" {
			return c, err
		}
		n, err := setting(text)
		if err != nil {
			return nil, fmt.Errorf("preset of %s: %w", env, err)
		}
		r := reader{lines: map[string]int{}}
		if !r.examine(n, reflect.TypeOf(c), "agent.") {
			return nil, fmt.Errorf("preset of %s: %s", env, r.problems[0].Text)
		}
		return c, n.Load(c)
	}
}

// defaultBaselines returns the baselines of a file that has none, nil where the catalog has none.
func defaultBaselines(t Catalog, env string) *yaml.Node {
	p, ok := t.(Presetter)
	if !ok || p.DefaultBaselines(env) == "" {
		return nil
	}
	n, err := setting(p.DefaultBaselines(env))
	if err != nil {
		return nil // a list that is no YAML: the catalog's Check says so
	}
	for _, c := range n.Content {
		c.Line = 0
	}
	return n
}

// wrappers returns what a file's section wrappers begins with: presets where it has no section of that name.
func (p Preset) wrappers(n *yaml.Node) Wrappers {
	w := wrappersNamed(n)
	if value(n, "normalize_observation") == nil {
		w.NormalizeObservation = p.Wrappers.NormalizeObservation
	}
	if value(n, "normalize_reward") == nil {
		w.NormalizeReward = p.Wrappers.NormalizeReward
	}
	return w
}

// maxSeeds bounds a list of seeds, so that a slip of the finger doesn't start a year of work.
const maxSeeds = 100_000

// ParseSeeds reads a list of seeds such as "7", "1-20" or "1,2,10-12", in its order and without repetition.
func ParseSeeds(s string) ([]uint64, error) {
	var out []uint64
	seen := map[uint64]bool{}
	for part := range strings.SplitSeq(s, ",") {
		lo, hi, ranged := strings.Cut(strings.TrimSpace(part), "-")
		a, err := strconv.ParseUint(lo, 10, 64)
		b := a
		if err == nil && ranged {
			b, err = strconv.ParseUint(hi, 10, 64)
		}
		if err != nil {
			return nil, fmt.Errorf("%q is not a list of seeds, want for example 7, 1-20 or 1,2,10-12", s)
		}
		if b < a {
			return nil, fmt.Errorf("%q runs backwards, want %d-%d", part, b, a)
		}
		if b-a >= maxSeeds || len(out)+int(b-a) >= maxSeeds {
			return nil, fmt.Errorf("%q names more than %d seeds", s, maxSeeds)
		}
		for i := range b - a + 1 { // x <= b always holds where b is the largest seed
			x := a + i
			if seen[x] {
				return nil, fmt.Errorf("%q names seed %d twice", s, x)
			}
			seen[x] = true
			out = append(out, x)
		}
	}
	return out, nil
}

// YAML returns the whole experiment, defaults filled in, as a file that Load reads back to the same.
func (e *Experiment) YAML() ([]byte, error) {
	text, err := yaml.Dump(e, yaml.WithIndent(2))
	p := preset(e.Catalog, e.Env.Name, e.Agent.Name)
	if err != nil || e.Wrappers.NormalizeObservation.Clip != 0 || p.Wrappers.NormalizeObservation.Clip == 0 {
		return text, err
	}
	// What is off is left out, where a preset would turn it on.
	root := (&reader{}).document(text)
	if err := set(root, "wrappers.normalize_observation.clip=0"); err != nil {
		return nil, err
	}
	return yaml.Dump(root, yaml.WithIndent(2))
}

// MarshalYAML writes the name beside the chosen one's own keys.
func (c Choice) MarshalYAML() (any, error) {
	var n yaml.Node
	if err := n.Dump(c.Config); err != nil {
		return nil, err
	}
	m := &n
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		m = n.Content[0]
	}
	if m.Kind != yaml.MappingNode {
		m = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	}
	key := c.key
	if key == "" {
		key = "name"
	}
	m.Style = 0
	name := []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, {Kind: yaml.ScalarNode, Tag: "!!str", Value: c.Name}}
	m.Content = append(name, m.Content...)
	return m, nil
}

// Flow writes choices in one line of YAML, as --set eval.baselines=… takes them.
func Flow(choices []Choice) (string, error) {
	var n yaml.Node
	if err := n.Dump(choices); err != nil {
		return "", err
	}
	inOneLine(&n)
	text, err := yaml.Dump(&n, yaml.WithLineWidth(-1))
	return strings.TrimSpace(string(text)), err
}

func inOneLine(n *yaml.Node) {
	n.Style |= yaml.FlowStyle
	for _, c := range n.Content {
		inOneLine(c)
	}
}
