// Package agents is the contract between learners and the loop that trains them.
//
// A [Learner] owns parameters, targets, optimiser, normalisers and replay. It acts in all copies of an environment at once,
// observes the transitions, and updates itself. It knows package nets and no engine. What it saves is a [State]: named
// arrays, blobs and counters, from which it continues bit for bit.
//
// What leaves training is a [Policy]: an envs.Policy that acts without exploring, stored as a [PolicyFile], which
// evaluation, export and serving read.
//
// Not here: the learners and heuristics (folders below this one), the table of them (package catalog), run folders and
// schedules (package train).
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
	// Spec describes the environment, NumEnvs how many of it step together.
	Spec    *envs.Spec
	NumEnvs int
	// FirstEnv is the number of the first of them, where they are a part of those that a run has: see [Rounds].
	FirstEnv int
	// Train is the engine of the updates; Act is the CPU engine that acts and serves. They may be the same.
	Train, Act nets.Engine
	// Seed names the learner's random streams.
	Seed uint64
	// Steps is the planned number of environment steps over all copies, for schedules.
	Steps int64
	// NewEnv makes one more environment like those that step together, for learners that try actions on copies; nil where
	// none can be made.
	NewEnv func() (envs.Env, error)
	// Teacher makes a baseline with its defaults, by its name in the catalog, for learners that imitate or compare with it;
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

// Rounds is implemented by learners that can learn in rounds: every copy of the environment plays one whole episode with
// the same policy, and the update follows once all have ended. The vector's autoreset is then [envs.Rounds], and the loop
//
//	l.BeginRound(n); for !v.RoundOver() { l.Act(v); v.Step(); l.Observe(v) }; l.Update(); v.Reset()
//
// What a copy does depends on the policy, the round, and the copy's number alone, so that a round may be played in parts,
// by learners that have adopted the policy.
type Rounds interface {
	Pretrained
	// InRounds reports whether the configuration asks for rounds.
	InRounds() bool
	// BeginRound begins the n-th round, counted from 0. What was played of a round without an update is forgotten.
	BeginRound(n uint64)
	// AppendPlayed appends what the copies have played in the round. TakePlayed adds it to another learner's round: the parts
	// in the order of their copies, in place of playing. What is damaged is refused, and changes nothing.
	AppendPlayed(b []byte) ([]byte, error)
	TakePlayed(b []byte) error
}

// Pretrained is implemented by learners that can begin with a policy whose training has left nothing else, such as one of
// the zoo.
type Pretrained interface {
	Learner
	// AdoptPolicy takes over a policy's weights, and its statistics of observations. What the policy does not have, such as
	// a value, begins anew. A policy of other networks is an error that names the difference; nothing has changed then.
	AdoptPolicy(f *PolicyFile) error
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

// Transparent is implemented by learned policies whose decisions can be explained.
type Transparent interface {
	Policy
	// Insight builds the policy's function for rows observations at a time, on a CPU engine.
	Insight(act nets.Engine, rows int) (Insight, error)
}

// Attentive is implemented by policies that can attend to others.
type Attentive interface {
	Transparent
	// Uniform returns the policy with equal weights for all neighbours in place of attention, on the engine act: what it
	// does differently is what attention does. It is nil for a policy without attention.
	Uniform(spec *envs.Spec, act nets.Engine) (Policy, error)
}

// Insight is the function behind a policy's decisions, with its derivatives. Arrays are row-major in the environment's
// terms: what is seen is [rows, agents, observation] as the environment gives it, outputs are [rows, agents, Outputs].
// A slice returned is overwritten by the next call.
type Insight interface {
	// Outputs describes the outputs of each agent.
	Outputs() []Output
	// Forward returns the outputs for observations.
	Forward(obs []float32) ([]float32, error)
	// Gradient returns, for each row of the last Forward, the derivative of Σ weights·outputs by the observation.
	Gradient(weights []float32) ([]float32, error)
	// Attention returns the agents' attention weights for observations: [rows, agents, agents], each row summing to at
	// most 1, zero where there is no link; nil for policies without attention.
	Attention(obs []float32) ([]float32, error)
}

// Output is one output of an agent.
type Output struct {
	// Component is the action's component that the output decides.
	Component int
	// Choice is the number of the choice that the output scores, −1 where the output is the action itself, in the
	// environment's units.
	Choice int
}

// Transition is a step that others have made: what the agents of an environment's one kind saw, did, got and saw next.
type Transition struct {
	// Before and After are [agents, Observation.Width()], Action is [agents, Action.Width()] as the environment takes it,
	// Rewards has one number per agent.
	Before, After, Action, Rewards []float32
	// Elapsed is the time that the step took, in microseconds. Terminated says that nothing follows.
	Elapsed    int64
	Terminated bool
}

// Offline is implemented by learners that can learn from transitions alone, without acting: off-policy ones.
type Offline interface {
	Learner
	// Take puts a transition into the replay. All agents were present in it.
	Take(t *Transition) error
	// Learn does one update from the replay. It counts as one step for all schedules.
	Learn() error
}
