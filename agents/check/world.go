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

// NotFinite is [envs.NotFinite], for what networks give.
func NotFinite(x []float32) int { return envs.NotFinite(x) }
