package agents

import (
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

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
