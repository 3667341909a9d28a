package choice

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// Problem is an environment as a network sees it that scores choices: rows of observations in, a score for each choice out. All agents
// of the one kind share the network; each is a row.
type Problem struct {
	Kind *envs.Kind
	// Agents is the number of rows of one environment, Obs the width of a row, N the number of choices.
	Agents, Obs, N int
}

// NewProblem looks at an environment. It fails, naming the kind, where there are several kinds, where observations are no vectors, and
// where an action is not one choice.
func NewProblem(s *envs.Spec) (Problem, error) {
	if len(s.Kinds) != 1 {
		return Problem{}, fmt.Errorf("%s has %d kinds of agents, want one", s.ID, len(s.Kinds))
	}
	k := &s.Kinds[0]
	if k.Observation.Width() == 0 {
		return Problem{}, fmt.Errorf("%s: observation space of %s is %v, want a vector", s.ID, k.Name, k.Observation)
	}
	p := Problem{Kind: k, Agents: k.Agents, Obs: k.Observation.Width()}
	switch a := k.Action.(type) {
	case envs.Discrete:
		p.N = a.N
	case envs.MultiDiscrete:
		if len(a.N) != 1 {
			return Problem{}, fmt.Errorf("%s: an action of %s has %d components, want one choice", s.ID, k.Name, len(a.N))
		}
		p.N = a.N[0]
	default:
		return Problem{}, fmt.Errorf("%s: action space of %s is %v, want Discrete", s.ID, k.Name, k.Action)
	}
	return p, nil
}

// Arch is a network of fully connected layers from observations to out numbers.
func (p *Problem) Arch(hidden []int, activation string, finalBound float64, out int) nets.Arch {
	return nets.MLP{
		Agents: 1, In: []nets.Port{{Name: "observation", Width: p.Obs}}, Hidden: hidden, Out: out,
		Activation: activation, FinalBound: finalBound,
	}
}

// Check refuses what would poison the weights: a reward or a value of the observation after the step that is no finite number. i is the
// environment's number, for the message.
func (p *Problem) Check(i int, rewards, after []float32) error {
	for j, x := range rewards {
		if x-x != 0 {
			return fmt.Errorf("environment %d: reward of %s %d is %g, want a finite number", i, p.Kind.Name, j, x)
		}
	}
	if finite(after) {
		return nil
	}
	for j, x := range after {
		if x-x != 0 {
			return fmt.Errorf("environment %d: observation of %s %d, component %d is %g, want a finite number",
				i, p.Kind.Name, j/p.Obs, j%p.Obs, x)
		}
	}
	return nil
}

// finite says that all numbers are: x − x is 0, or else no number. Four sums wait for each other less than one.
func finite(x []float32) bool {
	var a, b, c, d float32
	for ; len(x) >= 4; x = x[4:] {
		a += x[0] - x[0]
		b += x[1] - x[1]
		c += x[2] - x[2]
		d += x[3] - x[3]
	}
	for _, y := range x {
		a += y - y
	}
	return a+b+c+d == 0
}

// Discount is γ for a step that took elapsed microseconds: Gamma or, where Seconds is positive, Gamma^(elapsed/Seconds).
type Discount struct{ Gamma, Seconds float64 }

// Of returns it; 0 where the world ended. A truncated episode goes on in its value.
func (d Discount) Of(terminated bool, elapsed int64) float64 {
	switch {
	case terminated:
		return 0
	case d.Seconds > 0:
		return math.Pow(d.Gamma, float64(elapsed)/1e6/d.Seconds)
	}
	return d.Gamma
}
