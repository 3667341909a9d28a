// Package reinforce is REINFORCE, the policy gradient of Williams (1992), over a finite number of choices. The policy
// is a softmax under masks of illegal choices, with an entropy bonus. The baseline is a learned value, the mean over
// episodes of the same sequence (DeepRM), a counterfactual under a rule, or none. Training may begin by imitating a
// rule.
//
// Read learn.go first: it is the update, with its equations. batch.go computes returns, advantages and importance
// weights. update.go (vectors) and graphs.go differentiate the losses. store.go records transitions, counterfactual.go and
// imitation.go ask a rule, learner.go acts, observes and saves.
//
// Several agents of one kind share one network, each with its own trajectories; an agent that leaves has terminated.
//
// Not here: what learners of choices share (agents/choice, agents/graphs).
package reinforce
