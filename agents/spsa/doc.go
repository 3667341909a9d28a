// Package spsa implements PBA, the pricer of HOPS, which searches for one action that holds in every window by
// simultaneous-perturbation stochastic approximation (SPSA; Spall, 1992; Huang et al., Joint Pricing and Scheduling for
// SLA-aware Serverless GPU Services, Algorithm 1, eqs. 12 and 13). In each window it copies the environment,
// tries the action perturbed up and down on the copies, which have the same workload as the environment itself, and
// moves the action along the difference of profits.
//
// The action is a box. Its continuous components (HOPS: prices) and its whole-number components (baselines of
// keep-alive vGPUs) are two blocks, which are perturbed one after the other. Two types use a [Pricer]: [Learner] learns
// over a vector of environments and exports a policy that holds the action found; [Planner] starts again in every
// episode and learns within it, as in the paper's experiment.
//
// Read pricer.go first: it is Algorithm 1 in reading order. space.go has the components of the action and the
// projection Π, planner.go the counterfactual copies and the search without copies; learner.go lists what is saved.
// docs/agents/spsa.md has the equations and what the paper leaves open, docs/results/spsa/theory.md the theory that the
// tests check.
//
// Not here: the environments, and policies that depend on observations (package maddpg).
package spsa
