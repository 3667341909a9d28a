// Package placement holds the rules that learned schedulers are compared with on stoker/Placement-v2, each in one file.
//
// [FCFS], [SJF], [Packer] and [Random] are the rules of one machine, for unlike nodes; [Tetris] is the published rule
// for several machines. They read the graph, the legality table and the mask, and know nothing else. How much an
// invocation gets is a setting of each. [Lookahead] is a planner, which tries what several rules would do on copies
// of the environment.
//
// Not here: policies that learn; the rules for DeepRM's cluster (agents/baselines/deeprm).
package placement
