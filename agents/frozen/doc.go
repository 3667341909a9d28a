// Package frozen is what policies with frozen weights have in common: reading who made a policy's file and its description
// ([Describe], [Fits]), the fingerprint of its content ([Sum]), and all of [envs.Policy] except acting ([Policy]).
//
// Not here: what a description says and how a policy acts (agents/choice, agents/graphs, agents/maddpg, agents/spsa), and
// the files themselves (checkpoints).
package frozen
