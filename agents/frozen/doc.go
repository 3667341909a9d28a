// Package frozen is what policies with frozen weights have in common whatever they do with them: reading who made a
// policy's file and its description ([Describe], [Fits]), what identifies its content ([Sum]), and all of [envs.Policy]
// but acting ([Policy]): its name, its draws, its saved state, and when one policy may become another.
//
// Not here: what a description says and how a policy acts (agents/choice, agents/graphs, agents/maddpg, agents/spsa),
// and files themselves (checkpoints).
package frozen
