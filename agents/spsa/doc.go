// Package spsa is PBA, the pricer of HOPS (Huang et al., Joint Pricing and Scheduling for SLA-aware Serverless GPU
// Services, Algorithm 1, eqs. 12 and 13): simultaneous-perturbation stochastic approximation (Spall, 1992) of an action
// that is the same in every window. Each window it copies the environment, tries the action perturbed up and down on
// the copies, which face the workload that the world will face, and moves the action along the difference.
// docs/agents/spsa.md has the equations, what the paper leaves open, and the theory that the tests hold it against.
//
// The action is a box. Its continuous components (HOPS: prices) and its whole-number ones (baselines of keep-alive
// vGPUs) are two blocks, perturbed one after the other. Three faces stand on one [Pricer]: [Learner] learns from a
// vector of environments and leaves a policy that holds what it found; [Planner] begins anew in every episode and
// learns within it, as the paper's experiment does; [Tuner] does so without copies, on the world's own windows.
//
// Algorithm 1 is in pricer.go, in reading order; space.go has the components of the action and the projection Π,
// trial.go the counterfactual copies, online.go searching without them. Not here: the environments, and policies that
// look at what is observed (package maddpg).
package spsa
