// Package frontier computes exact trade-offs between the response time of a workflow and its price, where every function
// has a list of options (a memory size, a variant, a parallelism), each with a mean run time and an expected price.
//
// [Exact] returns all configurations that no other one dominates; [Within] returns fewer, with a certified relative gap.
// A front answers every question about the two at once: the fastest under a budget, the cheapest under a latency. [Cheapest]
// and [Fastest] answer one such question, where edges cross in far less time than the front takes.
//
// The price of a configuration is a sum over functions. Its time is the workflow's response time, a term of sums and
// maxima (see [workflow.Part]). Where the term is a tree, fronts are combined from the leaves up: in a sum every point
// of one front meets every point of the other, in a maximum the cheapest that are done by each time meet, and dominated
// points are dropped at once. Elsewhere (edges that cross, branches below a fork, a function that runs on both sides of a
// fork) branch and bound lists the points: the time is convex and piecewise linear in the functions' times, so that its
// slopes give lower bounds that are sums over functions.
package frontier
