// Package choice is what learners that score a finite number of choices share: an environment with a Discrete action as
// a network sees it ([Problem]), and picking a choice by its score under a mask ([Best],
// [Draw]).
//
// Not here: how scores are learned (agents/dqn, agents/reinforce), choices within graphs (agents/graphs), the policies
// that leave training (agents/actor).
package choice

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/internal/check"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// Problem is an environment as a network that scores choices sees it: rows of observations in, a score per choice out.
// All agents of the one kind share the network; each is a row.
type Problem struct {
	Kind *envs.Kind
	// Agents is the number of rows of one environment, Obs the width of a row, N the number of choices.
	Agents, Obs, N int
}

// NewProblem reads a spec. It fails, naming the kind, where there are several kinds, where observations are not
// vectors, and where an action is not one choice.
func NewProblem(s *envs.Spec) (Problem, error) {
	k, err := check.Vector(s)
	if err != nil {
		return Problem{}, err
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

// Arch is an MLP from observations to out numbers.
func (p *Problem) Arch(hidden []int, activation string, finalBound float64, out int) nets.Arch {
	return nets.MLP{
		Agents: 1, In: []nets.Port{{Name: "observation", Width: p.Obs}}, Hidden: hidden, Out: out,
		Activation: activation, FinalBound: finalBound,
	}
}

// Stream names the random stream of policies that choose.
const Stream = "choice: policy"

// None is what picking returns where no choice is legal.
const None = -1

// Number is a score.
type Number interface{ float32 | float64 }

// Best is the first of the legal choices with the largest score, [None] where the mask allows none. No mask allows all.
func Best[N Number](scores []N, mask []bool) int {
	best := None
	for i := range scores {
		if legal(mask, i) && (best == None || scores[i] > scores[best]) {
			best = i
		}
	}
	return best
}

func legal(mask []bool, i int) bool { return mask == nil || mask[i] }

// Uniform is a legal choice drawn uniformly, [None] where there is none.
func Uniform(mask []bool, s *rng.Stream) int {
	n := 0
	for _, ok := range mask {
		if ok {
			n++
		}
	}
	if n == 0 {
		return None
	}
	n = s.IntN(n)
	for i, ok := range mask {
		if ok {
			if n == 0 {
				return i
			}
			n--
		}
	}
	return None
}

// Softmax writes the probabilities of a softmax over the legal choices, 0 for the others, to p. Without a legal choice
// all are 0; no mask allows all.
func Softmax[N Number](p []float64, scores []N, mask []bool) {
	clear(p)
	best := Best(scores, mask)
	if best == None {
		return
	}
	top, sum := float64(scores[best]), 0.0
	for i := range scores {
		if legal(mask, i) {
			p[i] = portable.Exp(float64(scores[i]) - top)
			sum += p[i]
		}
	}
	for i := range p {
		p[i] /= sum
	}
}

// Draw picks choice i with probability p[i] for a u in [0, 1), never one of probability 0; [None] where all are.
func Draw(p []float64, u float64) int {
	last := None
	for i, x := range p {
		if x <= 0 {
			continue
		}
		last = i
		if u < x {
			return i
		}
		u -= x
	}
	return last // rounding left a little of u
}
