// Package graphs is what learners share that see graphs and choose in steps: which node, how much of it, where. It
// turns an environment with a Graph observation and a MultiDiscrete action into a network over graphs ([Problem]),
// scores one component of the action after the other given those before ([Scorer]), draws and differentiates under
// the masks ([Gradient]), records the graphs that were seen ([List]), and writes the policy that leaves training
// ([Policy]).
//
// Not here: how the network learns (agents/reinforce), one choice over vectors (agents/choice), the network's
// arithmetic (nets).
package graphs
