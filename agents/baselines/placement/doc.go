// Package placement holds the rules that learned schedulers are compared with on stoker/Placement-v2, one in each file.
//
// [FCFS], [SJF], [Packer] and [Random] are the rules for one machine, extended to unlike nodes; [Tetris] is the
// published rule for several machines. They read the graph, the legality table and the mask, and nothing else. Each has
// a setting for the amount of resources that an invocation gets. [Lookahead] is a planner: it tries several rules'
// choices on copies of the environment.
//
// Not here: policies that learn; the rules for DeepRM's cluster (agents/baselines/deeprm).
package placement
