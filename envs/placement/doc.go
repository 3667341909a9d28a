// Package placement holds clusters in which jobs wait for room: what to start, and when, is decided one job at a time.
//
// [DeepRM] is the environment of Mao, Alizadeh, Menache and Kandula (Resource management with deep reinforcement learning, HotNets
// 2016) as its published code has it: resources in equal slots, a horizon of time steps, a few visible jobs with a backlog behind
// them, at most one arrival in a step, and a reward that adds up to minus the total slowdown. Where the code does what it hardly
// meant to do (its first job never arrives, jobs that end together leave one after another, the last start of the
// horizon is never used), the default mends it and a switch of [Defects] brings it back; with all of them set, episodes are
// the published code's, observation by observation.
//
// An arrival is drawn from a hash of the job set and the job's time, so that two policies face the same jobs. [Layout] reads numbers
// back out of an observation, for policies that decide by rules.
//
// [Serverless] is the cluster of the paper on graph networks (Zhang, Learning-based dynamic resource allocation for serverless computing
// with graph neural networks): unlike nodes, requests that are workflows of functions, cold starts, a choice of how much an invocation gets and where,
// and a graph to see. The paper gives no numbers of its cluster; which are ours is said where they stand. [System] is what all its
// episodes share, [ServerlessLayout] reads its graphs.
//
// Not here: the rules (agents/baselines/placement), networks and learning.
package placement
