package reinforce

import (
	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// model is policy and value for one way in which environments look: vectors with one choice, or graphs with several.
type model interface {
	kind() *envs.Kind
	// components are the numbers of choices of each part of an action.
	components() []int

	// newSeen is empty memory for what is seen, keep adds what an agent sees, check refuses what is seen but no finite number; i is the
	// environment, for the message.
	newSeen() seen
	keep(s seen, o *envs.KindObservation, agent int)
	check(i int, o *envs.KindObservation) error

	// act draws the actions of all agents and writes ln π of them, by row; legal is then what was legal for a row, all components. A row for which
	// the teachers say something does that.
	act(v *envs.Vector, s *rng.Stream, logp []float32, teachers *school) error
	legal(row int) []bool
	// hand takes the weights that have learned to act with.
	hand() error

	// policyGradient leaves a lesson's gradient of −J in the policy's Grads and returns −J, valueGradient that of ℓ in the value's.
	policyGradient(l *lesson) (loss float64, err error)
	valueGradient(l *lesson) (loss float64, err error)
	// logProbs writes ln π(a|s) of a lesson's rows, values V(s) of places, by the target network where it is asked for and there is one.
	logProbs(l *lesson, dst []float32) error
	values(target bool, at []place, dst []float32) error
	// adams are the optimisers; that of the value is nil without one. follow moves the target network, where there is one.
	adams() (policy, value nets.Optimizer)
	follow(tau float64)
	err() error

	// weights adds what is learned to the parts of a state.
	weights(p *choice.Parts)
	policy() (agents.Policy, error)
}

// seen is what an agent saw, row by row.
type seen interface {
	rows() int
	clear()
	appendTo(b []byte) []byte
	// read takes so many rows, as appendTo wrote them, off b.
	read(b []byte, rows int) ([]byte, error)
}

// place is a row of a trajectory: a step, or its end.
type place struct {
	t    *trajectory
	step int
}
