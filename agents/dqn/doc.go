// Package dqn is deep Q-learning (Mnih et al., 2015) over a finite number of choices, with masks of illegal ones, and
// its double form (van Hasselt et al., 2016). The shipped defaults are CleanRL's for CartPole-v1.
//
// The update stands in update.go, equation by equation; it knows package nets and no engine. The other files are the
// configuration (config.go), transitions and batches (memory.go), acting, learning and saving (learner.go). What
// it shares with other learners of choices stands in agents/choice.
//
// Observations are vectors. Several agents of one kind share one network, each a row with transitions of its own
// (independent learners); an agent that leaves has ended.
package dqn
