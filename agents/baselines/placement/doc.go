// Package placement holds the rules that learned schedulers are compared with on stoker/DeepRM-v1: [FCFS] takes the oldest job, [SJF]
// the shortest, [Packer] the one that lies best along what is free, [TetrisStar] a mixture of these two, and [Random] any. All but
// strict FCFS start jobs for as long as one fits and only then let time pass; none books a later start. Each is one file. They
// read the observation, image or compact, and know nothing else.
//
// Not here: Tetris for several machines, which needs an environment that has them, and policies that learn.
package placement
