// Package graphs is what learners share whose agents observe a graph and choose in components: which node, how much of it,
// where. [Problem] turns an environment with a Graph observation and a MultiDiscrete action into a network over graphs.
// [Scorer] scores one component after the other, given those before; [Gradient] differentiates under the masks; [Actor]
// acts. [List] records observed graphs, [Policy] is the policy that leaves training.
//
// Not here: how the network learns (agents/reinforce), one choice over vectors (agents/choice), the network's arithmetic
// (nets).
package graphs
