// Package suite redoes the figures of a paper: the paper's number, ours and their ratio stand side by side.
//
// A [Suite] is a name, the paper, and a function that plays and fills a [Report] with
//
//	rows         a quantity of a figure: the paper's value where it gives one, ours with its 95 % interval, the ratio
//	claims       a sentence of the paper, what was found here, and whether it holds
//	comparisons  paired differences of one policy from its baselines, with Holm's correction and a verdict
//	tables       anything else in rows and columns, as CSV and as Markdown
//	figures      a chart, as PNG, with its data as CSV beside it
//	notes        what is missing or could not be measured
//
// A paper's claims are a table of [Statement]: the text, what is measured, and a [Rule] with the paper's number;
// [Judge] evaluates them all. [Options.Play] plays policies under shared workload seeds, [Options.Each] spreads other
// work over workers, and [Run] runs a suite and leaves its folder, suite.json last, so that a folder with a
// suite.json is complete. The bytes of a result do not depend on the number of workers, and it holds no times.
//
// The table of suites is package suites; each suite is a package of its own. Playing and comparing is package eval, the
// statistics are package stats, numbers and tables package report, charts package chart.
package suite
