// Package workflow describes what a request does in a serverless application: which functions run, in what
// order, side by side, by choice, again, or called by one another.
//
// A [Graph] is a plain value that a configuration file can hold. [Graph.Compile] checks it and gives a
// [Workflow], which answers questions about it: the order and depth of its nodes, how often each is expected to run,
// the response time and the critical path for given node times, who neighbours whom. A [Tracker] follows
// many requests through a Workflow at once, for a simulator: told that a node's work is done, it says which
// nodes start next and which invocations have returned.
//
// The four applications of FaaSConf are here as values. What a node's work costs, where it queues and on what it runs
// is not: that belongs to the simulator and to the performance models.
package workflow
