// Package choice is what learners that score a finite number of choices share: an environment with a Discrete action as
// a network sees it ([Problem]), a network on rows ([Pass]) that acts for agents ([Actor]), picking a choice by its
// score under a mask ([Best], [Draw]), and the policy file that leaves training ([Policy]).
//
// Not here: how scores are learned (agents/dqn, agents/reinforce), choices within graphs (agents/graphs), continuous
// actions and actions of several components (agents/maddpg).
package choice
