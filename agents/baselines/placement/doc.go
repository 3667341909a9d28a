// Package placement holds the rules that learned schedulers are compared with on stoker/DeepRM-v1 and stoker/Placement-v1, each in one file.
//
// On the first, [FCFS] takes the oldest job, [SJF] the shortest, [Packer] the one that lies best along what is free, [TetrisStar] a
// mixture of these two, and [Random] any. All but strict FCFS start jobs for as long as one fits and only then let time pass; none
// books a later start. They read the observation, image or compact, and know nothing else.
//
// On the second, with its unlike nodes, [NodesFCFS], [NodesSJF], [NodesPacker] and [NodesRandom] are their like, and [Tetris] is the rule
// for several machines. They read the graph and its mask, and know nothing else. How much an invocation gets is a setting of each.
//
// Not here: policies that learn.
package placement
