package agents

import (
	"encoding"
	"fmt"
	"maps"
	"slices"

	"github.com/stoker-rl/stoker/agents/replay"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// Context is what a learner is made for.
type Context struct {
	// Spec describes the environment, Copies how many of it step together.
	Spec   *envs.Spec
	Copies int
	// Train is the engine of the updates; Act is the CPU engine that acts and serves. They may be the same.
	Train, Act nets.Engine
	// Seed names the learner's random streams.
	Seed uint64
	// Steps is the planned number of environment steps over all copies, for schedules.
	Steps int64
	// NewEnv makes one more environment like those that step together, for learners that try actions on copies; nil where
	// none can be made.
	NewEnv func() (envs.Env, error)
	// Teacher makes a rival with its defaults, by its name in the catalog, for learners that imitate or compare with it;
	// nil where none can be made.
	Teacher func(name string) (Teacher, error)
}

// Teacher is a rule whose actions a learner imitates, or compares its own with.
type Teacher interface {
	Name() string
	// Reset starts an episode; draws of its own follow from seed.
	Reset(seed uint64) error
	// Show writes the actions of env's agents, who observe obs. It may step copies of env, and must not change env. Calls
	// for other environments may run at the same time.
	Show(env envs.Env, obs *envs.Observation, act *envs.Action) error
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// Learner learns from a vector of environments. The loop is
//
//	for steps < planned { l.Act(v); v.Step(); l.Observe(v); l.Update() }
//
// and nothing that a learner does may depend on time, on workers or on threads.
type Learner interface {
	// Act writes v.Act from v.Obs, exploring as the method does.
	Act(v *envs.Vector) error
	// Observe is called after v.Step: v.Before, v.Act, v.Rewards, v.After and the rest hold the transition of every copy.
	Observe(v *envs.Vector) error
	// Update does the gradient steps that are due, possibly none.
	Update() error
	// Metrics calls f with each metric since the last call, such as "train/critic_loss", in a fixed order, and resets
	// them.
	Metrics(f func(name string, value float64))
	// Policy returns a policy with the present parameters that does not change as learning goes on.
	Policy() (Policy, error)
	// Replay is the memory to save beside the state, nil where there is none.
	Replay() *replay.Buffer
	// Save writes all that Load needs, the replay aside, to go on bit for bit.
	Save(s *State) error
	// Load restores what Save wrote. A state of other sizes is an error that names the array.
	Load(s *State) error
	// Adopt takes over what another run has learned, from what its learner saved: weights, and the statistics of
	// observations that belong to them. Optimiser, replay, random streams and counters stay those of this run.
	Adopt(s *State) error
}

// Policy is a learned policy: it acts, and it can be written to a file and read back.
type Policy interface {
	envs.Policy
	// Export returns the policy as a file's content.
	Export() (*PolicyFile, error)
}

// PolicyFile is a policy as stored: who made it, its description as JSON (architectures, action mapping; each agent
// documents its own) and its arrays (weights, frozen normalisation).
type PolicyFile struct {
	// Agent is the name in the table of agents, EnvID the environment for which it was trained.
	Agent, EnvID string
	Description  []byte
	Arrays       map[string]Array
}

// Array is named numbers with a shape.
type Array struct {
	Shape []int
	Data  []float32
}

// State is a learner's state in a form that a checkpoint stores.
type State struct {
	// Weights and Optimiser become safetensors files.
	Weights, Optimiser map[string]Array
	// Blobs hold the rest: random streams, normalisers, running metrics.
	Blobs map[string][]byte
	// Counters are readable in the manifest: updates, optimiser steps.
	Counters map[string]int64
}

// NewState returns an empty state.
func NewState() *State {
	return &State{Weights: map[string]Array{}, Optimiser: map[string]Array{}, Blobs: map[string][]byte{},
		Counters: map[string]int64{}}
}

// PutTensor stores a tensor's values under a name.
func PutTensor(m map[string]Array, name string, t nets.Tensor) {
	a := Array{Shape: slices.Clone(t.Shape()), Data: make([]float32, nets.Size(t))}
	t.Get(a.Data)
	m[name] = a
}

// GetTensor restores a tensor's values; a missing name or another shape is an error.
func GetTensor(m map[string]Array, name string, t nets.Tensor) error {
	a, ok := m[name]
	if !ok {
		return fmt.Errorf("agents: state has no array %q, it has %v", name, slices.Sorted(maps.Keys(m)))
	}
	if !slices.Equal(a.Shape, t.Shape()) || len(a.Data) != nets.Size(t) {
		return fmt.Errorf("agents: array %q has shape %v, want %v", name, a.Shape, t.Shape())
	}
	t.Set(a.Data)
	return nil
}

// GetBlob returns a blob; a missing name is an error.
func (s *State) GetBlob(name string) ([]byte, error) {
	b, ok := s.Blobs[name]
	if !ok {
		return nil, fmt.Errorf("agents: state has no entry %q, it has %v", name, slices.Sorted(maps.Keys(s.Blobs)))
	}
	return b, nil
}
