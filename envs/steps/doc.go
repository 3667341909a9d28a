// Package steps configures a running workflow step by step: before each step its memory, its instances and its
// processes (StepConf).
//
// An [App] describes a workflow whose nodes are steps: each has tasks, a law of their time over memory and processes,
// and data that it downloads and uploads. A [Platform] says which configurations there are, how instances start and what
// they cost. A [Model] is both, checked and worked out: per step the options on the front of time and price, with the
// quantiles of the step's time. A [Decider] chooses an option for each step as it becomes ready, from what a [Moment]
// shows: heuristics and planners in agents/baselines/steps do.
//
// The time of a step is mapping, download, computation and upload (StepConf, §3.2). Instances start one after the other;
// each then takes its own time, and the step ends with the last one.
//
// Laws of memory are in package memory, prices in package bill, graphs in package workflow, fronts of whole workflows in
// package frontier.
package steps
