// Package workflow describes what a request does in a serverless application: which functions run, and whether they
// run in sequence, in parallel, in a branch, in a loop, or as synchronous calls.
//
// A [Graph] is a plain value that a configuration file can hold. [Graph.Compile] checks it and gives a
// [Workflow], which can be analysed: the topological order and depth of its nodes, the expected number of runs of each,
// the response time and the critical paths for given node times, and the neighbours of each function. Graphs may have any
// shape: paths that cross, choices among all later nodes, loops that overlap. A [Tracker] follows many requests through a
// Workflow at once, for a simulator: when a node has finished its work, the tracker says which nodes start next and which
// invocations have returned. It needs a Workflow that is [Workflow.Walkable].
//
// The package has FaaSConf's four applications as values. Service times, queues and instances are not here but in the
// simulator and in package perfmodel.
package workflow
