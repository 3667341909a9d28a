package eval

import (
	"github.com/stoker-rl/stoker/agents/catalog"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
)

// Contestant is a policy to be compared: one or more trained versions of it, or a single heuristic.
type Contestant struct {
	// Name labels it in tables and files.
	Name string
	Kind catalog.Kind
	// Versions has an entry per training seed; a heuristic has one.
	Versions []Version
}

// Version is one trained policy, or a heuristic.
type Version struct {
	// TrainingSeed is 0 for heuristics.
	TrainingSeed uint64
	// Source is the checkpoint it was read from, empty for heuristics.
	Source string
	// New makes an actor for env; each goroutine makes its own.
	New func(env envs.Env) (rollout.Actor, error)
}
