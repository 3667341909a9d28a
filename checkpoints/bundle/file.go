package bundle

import "encoding/json"

// Format is the version of the format, in stoker.format.
const Format = 1

// Extension is the end of a bundle's name.
const Extension = ".stoker"

// File is a bundle's content.
type File struct {
	// Spec is what is seen and what is done, as envs.EncodeSpec writes it.
	Spec json.RawMessage
	// Agent says who made the policy.
	Agent Agent
	// Arrays are the policy's weights and frozen statistics.
	Arrays map[string]Array
	// Environment is the world in which the policy learned.
	Environment Environment
	// Seen are the ranges of features met in the evaluation: an entry for each kind of agents that sees a vector, and for
	// each kind of nodes and edges of graphs. Empty where nothing was met: then nothing is out of range.
	Seen []Seen
	// Provenance says where the policy comes from.
	Provenance Provenance
	// Evaluation says how the policy was judged.
	Evaluation Evaluation
	// Fallback is the rule that acts where the policy must not; nil where there is none.
	Fallback *Fallback
	// SelfTest are observations in the order in which they are to be shown to the policy after a reset with seed 0, and the
	// deterministic actions that must come out.
	SelfTest []Vector
}

// Agent is a policy's file, without its arrays, as agents.PolicyFile has it.
type Agent struct {
	// Name is the learner's name in the table of agents, Env the id of the environment for which the policy was trained.
	Name string `json:"name"`
	Env  string `json:"env"`
	// Description is the learner's own.
	Description json.RawMessage `json:"description"`
}

// Array is numbers with a shape.
type Array struct {
	Shape []int
	Data  []float32
}

// Environment is a resolved configuration: an environment's id, its section and the section of its workload.
type Environment struct {
	ID       string          `json:"id"`
	Config   json.RawMessage `json:"config"`
	Workload json.RawMessage `json:"workload,omitempty"`
}

// Seen are the ranges of the features of one kind of agents or, with Part, of one kind of nodes or edges of its graphs.
type Seen struct {
	// Kind is the agents' name.
	Kind string `json:"kind"`
	// Part is "node.NAME" or "edge.NAME" for features of a graph, empty for those of the agents themselves.
	Part string `json:"part,omitempty"`
	// Features has an entry for each feature, in order.
	Features []Range `json:"features"`
}

// Range is what was met of one feature over all agents, nodes or edges.
type Range struct {
	Name string `json:"name,omitempty"`
	// Least and Greatest are the ends, Low the 0.1 %, Median the 50 % and High the 99.9 % quantile.
	Least    float64 `json:"min"`
	Low      float64 `json:"p0.1"`
	Median   float64 `json:"p50"`
	High     float64 `json:"p99.9"`
	Greatest float64 `json:"max"`
}

// Provenance says where a policy comes from. It holds no path of a machine and no time.
type Provenance struct {
	// Name is that of the run, or of the policy in the zoo.
	Name string `json:"name"`
	// Config is the resolved configuration, as far as it shapes results.
	Config json.RawMessage `json:"config,omitempty"`
	// Trace is the hash of the workload's trace, empty where there is none.
	Trace string `json:"trace,omitempty"`
	// Revision is the version of the program that trained the policy, Kernels the family of its kernels.
	Revision string `json:"revision,omitempty"`
	Kernels  string `json:"kernels,omitempty"`
	// Seeds are the training seeds, Steps the environment steps of the training.
	Seeds []uint64 `json:"seeds"`
	Steps int64    `json:"steps"`
}

// Evaluation says how a policy was judged.
type Evaluation struct {
	// Evaluated is false for a policy that was exported although it was never evaluated.
	Evaluated bool `json:"evaluated"`
	// Report is this policy's part of eval.json: the same keys, with its own rows and comparisons alone.
	Report json.RawMessage `json:"report,omitempty"`
}

// Fallback is a heuristic of the catalog with its configuration.
type Fallback struct {
	Name   string          `json:"name"`
	Config json.RawMessage `json:"config"`
}

// Vector is an observation with the action that must come out.
type Vector struct {
	// Kinds has an entry for each kind of agents.
	Kinds []KindVector `json:"kinds"`
}

// KindVector is what the agents of one kind see and do.
type KindVector struct {
	// Values is [agents, width], Active [agents].
	Values []float32 `json:"values,omitempty"`
	Active []bool    `json:"active"`
	// Mask is [agents, choices], left out where all choices are legal. Legal is the legality table.
	Mask  []bool `json:"mask,omitempty"`
	Legal []int8 `json:"legal,omitempty"`
	// Graphs has a graph for each agent, left out where observations are vectors.
	Graphs []GraphVector `json:"graphs,omitempty"`
	// Action is [agents, width].
	Action []float32 `json:"action"`
}

// GraphVector is a graph.
type GraphVector struct {
	Nodes []NodeVector `json:"nodes"`
	Edges []EdgeVector `json:"edges"`
}

// NodeVector is the nodes of one kind: Features is [Count, width].
type NodeVector struct {
	Count    int       `json:"count"`
	Features []float32 `json:"features,omitempty"`
}

// EdgeVector is the edges of one kind: edge e goes from node From[e] to node To[e], Features is [len(From), width].
type EdgeVector struct {
	From     []int32   `json:"from"`
	To       []int32   `json:"to"`
	Features []float32 `json:"features,omitempty"`
}
