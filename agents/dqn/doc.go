// Package dqn is deep Q-learning (Mnih et al., 2015) over a finite number of choices, with masks of illegal ones, and its
// double form (van Hasselt et al., 2016). The defaults are CleanRL's for CartPole-v1.
//
// Read update.go first: it is the update, with its equations. memory.go holds transitions and batches, learner.go acts,
// learns and saves, config.go is the configuration.
//
// Observations are vectors. Several agents of one kind share one network, each a row with its own transitions (independent
// learners); an agent that leaves has terminated.
//
// Not here: what learners of choices share (agents/choice).
package dqn
