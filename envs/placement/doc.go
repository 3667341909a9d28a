// Package placement is the cluster of the paper on graph networks (Zhang, Learning-based dynamic resource allocation
// for serverless computing with graph neural networks): unlike nodes, requests that are workflows of functions, cold
// starts, a choice of how much an invocation gets and where, and a graph to see. The paper gives no numbers of its
// cluster; where the numbers are ours, their comments say so.
//
// [System] is what all episodes of an [Env] share: nodes, functions and workflows. What the k-th request is follows
// from the seed and k alone, so that two policies face the same requests. [Layout] reads numbers back out of the
// graph, for policies that decide by rules. [Cluster] is what a platform knows when a decision is due; [Observer] makes
// the observation from it with the environment's own code (observe.go), and a [Start] of what a policy decides.
//
// Not here: the rules (agents/baselines/placement), networks and learning; DeepRM's cluster (envs/deeprm).
package placement
