// Package firm is Firm as FaaSConf compares with it: deep deterministic policy gradient (Lillicrap et al., 2016) with one
// set of weights for all functions, in which only the functions that look guilty of a late workflow change their
// configuration (after Qiu et al., "FIRM", OSDI 2020).
//
// Each window, culprits.go finds the critical path, the way through the workflow with the largest sum of the functions'
// 95th percentiles, and on it the two functions whose percentile grew most. They take the actor's action; the others
// keep their configuration. The actor and critic see one function: they are those of package maddpg with mix none and
// shared weights, whose update this package uses as it is. config.go has the sizes and rates of FaaSConf's code;
// learner.go and policy.go put the choice of functions around learner and policy.
//
// FIRM itself finds critical paths in traces and culprits by a classifier, and its actions are changes by 10 % of five
// limits. That is not here.
package firm
