// Package eval compares policies: all of them face the same workload seeds, and every estimate has an interval.
//
//	[Choose]     reads which runs, checkpoints and baselines are compared
//	[Run]        plays each contestant under each seed and records the scores
//	[Summarise]  makes estimates, paired comparisons and verdicts from the scores
//	[Text]       and [Markdown] are its tables
//	[Write]      leaves a folder with eval.json, scores.csv, table.md, report.html and the figures
//	[PlotRuns]   compares runs over training
//
// Each figure has its data as CSV beside it, from which [Replot] draws it again:
//
//	learning_curve  a metric over training, runs that differ by seed as one band
//	scatter         two metrics against each other, such as cost and QoS violations
//	intervals       every metric's IQM by policy
//	improvement     the probability of doing better than each baseline under one workload
//	profile         the share of episodes that do better than a threshold, of the foremost metrics
//	NAME_cdf        a distribution that the environment samples, such as latency, and its tail
//	over_time       quantities through one episode
//
// Package suite redoes papers' figures with the same episodes, comparisons and tables. Package stats holds the
// statistics, package report writes numbers and tables, package chart draws. Training is not here.
package eval
