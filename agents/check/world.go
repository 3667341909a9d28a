package check

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
)

// OneKind returns the kind of an environment's agents, or an error where there are several.
func OneKind(s *envs.Spec) (*envs.Kind, error) {
	if len(s.Kinds) != 1 {
		return nil, fmt.Errorf("%s has %d kinds of agents, want one", s.ID, len(s.Kinds))
	}
	return &s.Kinds[0], nil
}

// Vector is [OneKind] for learners that observe vectors.
func Vector(s *envs.Spec) (*envs.Kind, error) {
	k, err := OneKind(s)
	if err != nil {
		return nil, err
	}
	if k.Observation.Width() == 0 {
		return nil, fmt.Errorf("%s: observation space of %s is %v, want a vector", s.ID, k.Name, k.Observation)
	}
	return k, nil
}

// Rewards refuses rewards that are not finite, which would poison the weights; i is the environment's number.
func Rewards(i int, k *envs.Kind, rewards []float32) error {
	if j := NotFinite(rewards); j >= 0 {
		return fmt.Errorf("environment %d: reward of %s %d is %g, want a finite number", i, k.Name, j, rewards[j])
	}
	return nil
}

// Observation refuses vectors of observations that are not finite; i is the environment's number.
func Observation(i int, k *envs.Kind, values []float32) error {
	if j := NotFinite(values); j >= 0 {
		w := k.Observation.Width()
		return fmt.Errorf("environment %d: observation of %s %d, component %d is %g, want a finite number",
			i, k.Name, j/w, j%w, values[j])
	}
	return nil
}

// NotFinite returns the index of the first number that is not finite, -1 where all are. Four sums of x − x, which is 0
// for finite x and NaN else, keep the processor busy.
func NotFinite(x []float32) int {
	var a, b, c, d float32
	rest := x
	for ; len(rest) >= 4; rest = rest[4:] {
		a += rest[0] - rest[0]
		b += rest[1] - rest[1]
		c += rest[2] - rest[2]
		d += rest[3] - rest[3]
	}
	for _, y := range rest {
		a += y - y
	}
	if a+b+c+d == 0 {
		return -1
	}
	for i, y := range x {
		if y-y != 0 {
			return i
		}
	}
	return -1
}
