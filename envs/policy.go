package envs

import "encoding"

// Policy maps observations to actions. It may keep state between steps (a Kalman filter, start tags); it copies and
// saves this state as an environment does. Acting does not allocate after a warm-up.
type Policy interface {
	// Name is short and stable: it labels results.
	Name() string
	// Reset starts an episode; a policy's own draws follow from seed.
	Reset(seed uint64) error
	// Act writes the action of each active agent. A stochastic policy draws, unless deterministic is asked for.
	Act(obs *Observation, act *Action, deterministic bool) error
	// CopyFrom makes this policy equal to src, which must be of the same kind and configuration.
	CopyFrom(src Policy) error
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// Tuner searches for a configuration while it is being used: it proposes an action, is told what came of it, and
// proposes again. Every step in which it acts counts.
type Tuner interface {
	Name() string
	Reset(seed uint64) error
	// Propose writes the next action.
	Propose(obs *Observation, act *Action) error
	// Observe tells what the last proposed action gave.
	Observe(act *Action, out *Outcome) error
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// Planner chooses an action by simulation: it may copy env and step the copy, and must not change env. It is an upper
// bound to compare with, and is never exported.
type Planner interface {
	Name() string
	Reset(seed uint64) error
	Plan(env Env, obs *Observation, act *Action) error
}
