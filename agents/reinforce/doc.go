// Package reinforce is REINFORCE, the policy gradient of Williams (1992), over a finite number of choices. The policy
// is a softmax under masks of illegal choices, with an entropy bonus. The baseline is a learned value, the mean over
// episodes of the same sequence (DeepRM), a counterfactual under a rule, or none. Training may begin by imitating a
// rule.
//
// Read update.go first: it is the update, with its equations, and differentiates the losses over vectors; graphs.go does
// so over graphs. batch.go computes returns, advantages and importance weights. store.go records transitions, rule.go
// asks a rule, to imitate it or to compare with it, learner.go acts, observes and saves.
//
// Several agents of one kind share one network, each with its own trajectories; an agent that leaves has terminated.
//
// Not here: what learners of choices share (agents/choice, agents/graphs).
package reinforce
