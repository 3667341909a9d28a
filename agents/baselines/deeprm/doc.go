// Package deeprm holds the rules that learned schedulers are compared with on stoker/DeepRM-v1, one in each file.
//
// [FCFS] starts the oldest job, [SJF] the shortest, [Packer] the one whose demand aligns best with the free resources,
// [TetrisStar] weighs length against alignment, and [Random] starts any. All but strict FCFS start jobs for as long as
// one fits and only then let time pass; none books a later start. They read the observation, image or compact, and
// nothing else.
//
// Not here: policies that learn; the rules for unlike nodes (agents/baselines/placement).
package deeprm
