// Package deeprm tests DeepRM's policy, learned by package reinforce (configs/placement/deeprm-*.yaml), against the
// paper's claims. Trained runs and the rules play the same unseen job sequences at the ten loads of the paper's figure,
// under both readings of when a job may start.
//
// Not here: the learner, the environment and the rules; training is a command's.
package deeprm
