// Package deeprm holds what was claimed of DeepRM's policy, learned by package reinforce
// (configs/placement/deeprm-*.yaml), against what came out: trained runs and the rules play the same unseen job
// sequences at the ten loads of the paper's figure, in each of the two readings of when a job may start.
//
// Not here: the learner, the environment, the rules, and training, which is the command's.
package deeprm
