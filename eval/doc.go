// Package eval compares policies: every one faces the same workload seeds, every claim has an interval.
//
// [Choose] reads who is compared; [Run] plays each contestant under each seed and keeps the raw scores; [Summarise]
// turns them into estimates, paired comparisons and verdicts; [Text] and [Markdown] are its tables; [Write] leaves a
// folder with eval.json, scores.csv, table.md, a page for people (report.html) and the figures, each figure with its
// data as CSV beside it, so that [Replot] and anybody else can draw it again. [PlotRuns] compares runs over training.
// The figures are:
//
//	learning_curve  a metric over training, runs that differ by seed as one band
//	scatter         two metrics against each other, such as cost and QoS violations
//	intervals       every metric's IQM by policy
//	improvement     the probability of doing better than each rival under one workload
//	profile         the share of episodes that do better than a threshold, of the foremost metrics
//	NAME_cdf        a distribution that the environment samples, such as latency, and its tail
//	over_time       quantities through one episode
//
// Package stats holds the statistics, package chart the drawing. Training is not here, nor is what policies do.
package eval
