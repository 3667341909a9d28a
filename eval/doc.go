// Package eval compares policies: every one faces the same workload seeds, every claim has an interval.
//
// [Run] plays each contestant under each seed and keeps the raw scores; [Summarise] turns them into estimates, paired
// comparisons and verdicts; [Write] leaves a folder with eval.json, scores.csv, table.md and the figures, each figure with its
// data as CSV beside it, so that [Replot] and anybody else can draw it again. Package stats holds the statistics.
package eval
