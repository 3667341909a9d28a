// Package suite redoes the figures of a paper: policies play, and the paper's number, ours and their ratio stand side
// by side.
//
// A [Suite] is a name, the paper, and a function that plays and fills a [Report] with
//
//	rows         a quantity of a figure: the paper's value where it gives one, ours with its 95 % interval, the ratio
//	claims       a sentence of the paper, what was found here, and whether it holds
//	comparisons  paired differences of one policy from its rivals, with Holm's correction and a verdict
//	tables       anything else in rows and columns, as CSV and as Markdown
//	figures      a chart, as PNG, with its data as CSV beside it
//	notes        what is missing or cannot be told, so that it is said and not hidden
//
// [Run] runs it and leaves a folder: suite.json last, so that a folder with a suite.json is whole. [Play] plays
// policies under shared workload seeds, each in an environment of its own where they need different ones; [Each]
// spreads any other work over workers. Neither the result's bytes nor their order depend on the number of workers,
// and nothing in a result tells the time.
//
// Which suites there are is package suites; what a paper's figures are is each suite's own package. The statistics are
// package stats, the drawing is package chart.
package suite
