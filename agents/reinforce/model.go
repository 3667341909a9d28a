package reinforce

import (
	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/saved"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// model holds the policy and value networks for one kind of environment: vectors with one choice ([vectors]), or graphs
// with several ([graphModel]).
type model interface {
	kind() *envs.Kind
	// components are the numbers of choices of each component of an action.
	components() []int

	// newObservations returns empty memory, and record adds what an agent observes.
	newObservations() observations
	record(s observations, o *envs.KindObservation, agent int)

	// act draws the actions of all agents and writes their ln π by row. Rows of the teacher take its action. legal is the
	// mask of a row in the last act, over all components.
	act(v *envs.Vector, s *rng.Stream, logp []float32, teacher *imitation) error
	legal(row int) []bool
	// syncActor copies the learned policy's parameters to the network that acts.
	syncActor() error

	// policyGradient leaves the gradient of −J over a batch in the policy's Grads and returns −J; valueGradient does so
	// for ℓ and the value.
	policyGradient(b *batch) (loss float64, err error)
	valueGradient(b *batch) (loss float64, err error)
	// logProbs writes ln π(a|s) of a batch's rows. values writes V(s) of steps, by the target network where it is asked
	// for and exists.
	logProbs(b *batch, dst []float32) error
	values(target bool, at []stepRef, dst []float32) error
	// optimisers of policy and value; the second is nil without a value. updateTarget moves the target network, if any.
	optimisers() (policy, value nets.Optimizer)
	updateTarget(tau float64)
	err() error

	// weights adds the learned parameters to a state.
	weights(p *saved.Parts)
	policy() (agents.Policy, error)
}

// observations are what an agent saw, a row per step.
type observations interface {
	rows() int
	clear()
	state.Stater
}

// stepRef is one row of a trajectory: a step, or its end.
type stepRef struct {
	t    *trajectory
	step int
}
