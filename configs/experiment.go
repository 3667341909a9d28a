package configs

import "github.com/stoker-rl/stoker/envs/workload"

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
	// DefaultRivals says that eval.rivals are the environment's baselines, since the file names none.
	DefaultRivals bool `yaml:"-" json:"-"`
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
	// Copies is the number of environments that step together.
	Copies int `yaml:"copies" json:"copies" range:"[1,2^20]"`
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

// Eval says how the trained policy is compared with its rivals.
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
	// Tolerance is by how much less well a constraint may be kept and still counts as kept: of a share, 0.02 is two in a
	// hundred; of what has no two bounds, it is a part of the other policy's mean.
	Tolerance float64 `yaml:"tolerance" json:"tolerance" range:"[0,1]"`
	// Scatter are the two quantities of the figure that sets one against the other, as cost and violations; x first.
	Scatter []string `yaml:"scatter" json:"scatter"`
	// Series are the quantities drawn over time, one panel each.
	Series []string `yaml:"series" json:"series"`
	// Rivals are the policies beside the learned one: names, each with its own keys. Where the key is left out they are the
	// environment's baselines; [] is none.
	Rivals []Choice `yaml:"rivals" json:"rivals"`
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
		Train: Train{Steps: 50_000, Copies: 8, LogEvery: 1_000,
			Evaluate: Evaluate{Every: 5_000, Episodes: 10, Metric: "return"}, Checkpoint: Checkpoint{Every: 10_000, Keep: 3}},
		Eval:   Eval{Seeds: "1-20", Split: "test", Tolerance: 0.02, Resamples: 10_000},
		Engine: Engine{Name: "native", Device: "auto", DType: "float32"},
	}
}
