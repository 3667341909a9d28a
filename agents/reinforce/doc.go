// Package reinforce is the policy gradient of Williams (1992) over a finite number of choices: a softmax policy with masks of illegal
// choices, an entropy bonus, and a baseline that is a learned value, the mean over episodes of the same sequence (DeepRM), or none.
//
// The update stands in update.go, equation by equation; it knows package nets and no engine. The other files are the configuration
// (config.go), what was lived through (trajectory.go, store.go), how returns, baselines and importance weights follow from it
// (advantage.go), acting and learning (learner.go), metrics and saving (metrics.go, state.go). What it shares with other learners of choices
// stands in agents/choice.
//
// Observations are vectors. Several agents of one kind share one network, each with trajectories of its own; an agent that leaves has
// ended.
package reinforce
