// Package explain says what a learned policy's decisions depend on. In states of real episodes it attributes each
// component of each agent's action to the numbers that were seen, own and others', by integrated gradients
// (Sundararajan, Taly and Yan, 2017): with x the state, x' the mean state and f the decision,
//
//	IG_k = (x_k − x'_k) ∫₀¹ ∂f/∂x_k (x' + α(x − x')) dα,  so that Σ_k IG_k = f(x) − f(x').
//
// What that sum leaves unexplained is reported. As a check that knows no derivatives, each feature is shuffled:
// replaced, for all agents at once, by what was seen in another state, in the recorded states (how far do decisions
// move?) and while episodes are played again (what does it cost in return?). Where policies attend to neighbours, the
// weights are shown.
//
// A continuous decision is the action in the environment's units; of choices it is the chosen one's logit less the
// mean of its component's. Intervals are 95 %, of the ratio of sums over episodes (Student's, linearised), so that
// episodes count as what is independent, not states. An explanation is of the policy, not of the world: a feature
// that follows another may get its credit.
package explain
