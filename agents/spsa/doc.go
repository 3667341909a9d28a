// Package spsa is PBA, the pricer of HOPS (Huang et al., Joint Pricing and Scheduling for SLA-aware Serverless GPU
// Services, Algorithm 1, eqs. 12 and 13): simultaneous-perturbation stochastic approximation (Spall, 1992) of an
// action that is the same in every window. Each window it copies the environment, tries the action perturbed up and
// down on the copies, which face the same workload as the environment itself, and moves the action along the
// difference of profits.
//
// The action is a box. Its continuous components (HOPS: prices) and its whole-number components (baselines of
// keep-alive vGPUs) are two blocks, perturbed one after the other. One [Pricer] serves two uses: [Learner] learns
// over a vector of environments and leaves a policy that holds the action found; [Planner] starts again in every
// episode and learns within it, as the paper's experiment does.
//
// Read pricer.go first: it is Algorithm 1 in reading order. space.go has the components of the action and the
// projection Π, trial.go the counterfactual copies, online.go searching without copies, state.go lists what is saved.
// docs/agents/spsa.md has the equations, what the paper leaves open, and the theory that the tests check.
//
// Not here: the environments, and policies that depend on observations (package maddpg).
package spsa
