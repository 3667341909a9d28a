package agents

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
