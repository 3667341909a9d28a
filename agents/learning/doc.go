// Package learning holds the small pieces that every update rule needs: the discount of a step ([Discount]), a linear
// schedule ([Linear]), copying parameters to the network that acts ([CopyParams]), and reading sums that an engine has
// added up ([TakeMean]).
//
// Not here: update rules (agents/dqn, agents/maddpg, agents/reinforce), and networks over choices or graphs
// (agents/choice, agents/graphs).
package learning
