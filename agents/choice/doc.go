// Package choice is what learners that score a finite number of choices share: how an environment with a Discrete action looks to a network
// ([Problem]), a network on rows ([Pass]) that acts for agents ([Actor]), picking a choice by its score under a mask ([Best], [Draw]), the
// policy file that leaves training ([Policy]), and saving a learner's tensors, counters and streams under their names ([Parts]).
//
// Not here: how scores are learned (agents/dqn, agents/reinforce), continuous actions and actions of several components (agents/maddpg).
package choice
