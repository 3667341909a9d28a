// Package variants configures whole serverless applications: the memory size and the model variant of every function
// (OptiServe).
//
// An [App] describes an application: its workflow, the variants of its functions with their accuracies, laws of time over
// memory and sizes to choose from, the prices, and how the functions' accuracies make that of the application. A [Model]
// is the App checked and worked out: per function every choice with its mean time and its expected price. It gives the
// [Outcome] of a choice: response time, cost and accuracy. A [Problem] is what is wanted of a configuration, one of
// OptiServe's eqs. 4.3 to 4.5; [Model.Solve] answers it exactly, and heuristics in agents/baselines/variants answer it as
// the papers do. [Preset] has the six applications that the experiments use.
//
// Means do not say everything: a [Measurer] serves requests of a load with a choice (package serve), cold starts
// included, and gives the percentiles of their response times and their bills with intervals.
//
// Laws are in package memory, prices in package bill, graphs in package workflow, fronts in package frontier.
package variants
