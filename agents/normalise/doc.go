// Package normalise lets any learner see standardised observations and scaled rewards: observations by the running mean
// and deviation of all that the copies have seen, rewards by the running deviation of the discounted return (as
// Stable-Baselines3's VecNormalize does).
//
// [New] puts a [Learner] around a learner. It normalises what the vector holds in place after each step, over all
// copies in their order, so that nothing depends on the number of workers. The statistics belong to the policy: they
// are part of the learner's state, and [Learner.Policy] and [Open] give a policy that standardises what it sees by
// statistics that do not change any more. Returns of episodes and evaluations are those of the environment: only the
// learner sees scaled rewards.
//
// Not here: the statistics themselves (envs.Normalizer), and the time limit, which is a wrapper of the environment
// (envs.TimeLimit).
package normalise
