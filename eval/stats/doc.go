// Package stats holds the statistics of evaluation: interquartile means with bootstrap intervals, paired comparisons
// with Holm's correction, probability of improvement and performance profiles.
//
// The scores of one policy are a [Scores]: a row per training seed, a column per workload seed. All policies share the
// columns. Training seeds and workloads are both sources of variance, so both are resampled: rows within a policy,
// columns for all policies at once (a hierarchical bootstrap). Every resample comes from a named random stream.
//
// Percentile intervals of few values are too narrow, so they are widened to the width of Student's t interval;
// docs/statistics.md measures their coverage by simulation. [Power] computes how many seeds a verdict needs.
//
// This package reads no files and plays no episodes: that is package eval.
//
// Sources: Agarwal et al., "Deep RL at the Edge of the Statistical Precipice" (2021) for IQM, profiles and probability
// of improvement; Holm (1979); Efron and Tibshirani (1993) for the percentile bootstrap, Hesterberg (2015) for its
// expansion; Tukey and McLaughlin (1963) for the standard error of a trimmed mean; Welch (1947) and Satterthwaite
// (1946) for the t test of several variances; Wilson (1927) for proportions; Phipson and Smyth (2010) for p values of
// random flips that are never zero.
package stats
