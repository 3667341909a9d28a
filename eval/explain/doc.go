// Package explain computes what a learned policy's decisions depend on. For states from played episodes it attributes
// each component of each agent's action to the observed features, the agent's own and the other agents', by integrated
// gradients (Sundararajan, Taly and Yan, 2017): with x the state, x' the mean state and f the decision,
//
//	IG_k = (x_k − x'_k) ∫₀¹ ∂f/∂x_k (x' + α(x − x')) dα,  so that Σ_k IG_k = f(x) − f(x').
//
// The numerical error of that sum is reported. As a check without derivatives, each feature is shuffled: replaced, for
// all agents at once, by its value in another state. This is done in the recorded states (how far do decisions move?)
// and while episodes are played again (how much return is lost?). For policies with attention over neighbours the
// attention weights are reported too.
//
// A continuous decision is the action in the environment's units; a discrete one is the logit of the chosen option
// minus the mean logit of its component. Intervals are 95 % Student's t intervals of a ratio of sums over episodes
// (linearised): episodes are independent, states of one episode are not. An explanation is about the policy, not about
// the environment: where two features are correlated, one may get the credit of the other.
package explain
