// Package deeprm is the environment of Mao, Alizadeh, Menache and Kandula (Resource management with deep
// reinforcement learning, HotNets 2016), as its published code has it: resources in equal slots, a horizon of time
// steps, a few visible jobs with a backlog behind them, at most one arrival in a step, and a reward that adds up to
// minus the total slowdown. Jobs are started one at a time.
//
// Where the published code does what it hardly meant to do (its first job never arrives, jobs that end together leave
// one after another, the last start of the horizon is never used), the default corrects it and a switch of [Defects]
// brings it back; with all of them set, episodes are the published code's, observation by observation.
//
// An arrival is drawn from a hash of the job set and the job's time, so that two policies face the same jobs.
// [Layout] reads numbers back out of an observation, for policies that decide by rules.
//
// Not here: the rules (agents/baselines/deeprm), networks and learning; the cluster of unlike nodes (envs/placement).
package deeprm
