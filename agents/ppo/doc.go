// Package ppo is proximal policy optimisation (Schulman et al., 2017) with the details of Huang et al., "The 37
// implementation details of proximal policy optimization" (2022). The defaults are CleanRL's for CartPole-v1.
//
// Read update.go first: it is the update, with its equations and what one sample adds to a gradient. head.go has the
// two kinds of action; vectors.go and graphs.go are the networks over vectors and over graphs; buffer.go holds the
// rollout; learner.go has the configuration, acts, observes and saves.
//
// Agents of a kind share weights, or have their own; each learns from its own observations and rewards (independent PPO).
//
// Not here: picking under a mask (agents/choice), networks over graphs (agents/graphs), the trained policy (agents/actor),
// normalised observations and rewards (agents/normalise).
package ppo
