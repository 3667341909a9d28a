// Package sac implements soft actor-critic (Haarnoja et al., Soft Actor-Critic Algorithms and Applications, 2018b) for
// continuous actions: a stochastic policy that maximises return and entropy, twin critics with target networks, and a
// temperature that is tuned until the policy's entropy is a target.
//
// Read update.go first: it is the whole update, gradient by gradient, with the paper's equation numbers, and
// builds what it needs. The other files:
//
//   - problem.go has the configuration, says which environments the package takes, and scales actions to their bounds.
//   - learner.go acts, and keeps the replay.
//
// Several agents of a kind each have their own actor, critics and temperature, or share one set (shared). An agent's
// critics see its own observation and action alone: for critics that see all agents take package maddpg. Agents that
// are absent in a step are left out of the update. [New] refuses choices, graphs and several kinds of agents.
//
// Not here: when updates are due and what a checkpoint holds (agents/offpolicy), the trained policy (agents/actor).
package sac
