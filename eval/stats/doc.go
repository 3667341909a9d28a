// Package stats holds the statistics of evaluation: interquartile means with bootstrap intervals, paired comparisons
// with Holm's correction, probability of improvement and performance profiles.
//
// Scores of one policy are a [Scores]: a row per training seed, a column per workload seed, the columns shared by all
// policies. Both are sources of variance, and both are resampled: rows within a policy, columns for all policies at
// once (a hierarchical bootstrap). Every resample comes from a named stream. Percentiles of few resampled values lie
// too close together, so intervals are widened to what Student's t asks for; docs/statistics.md shows by simulation
// how often they cover. [Power] says how many seeds a verdict takes.
//
// Sources: Agarwal et al., "Deep RL at the Edge of the Statistical Precipice" (2021) for IQM, profiles and
// probability of improvement; Holm (1979); Efron and Tibshirani (1993) for the percentile bootstrap, Hesterberg
// (2015) for its expansion; Tukey and McLaughlin (1963) for the standard error of a trimmed mean; Welch (1947) and
// Satterthwaite (1946) for the t test of several variances; Wilson (1927) for shares; Phipson and Smyth (2010) for p
// values of random flips that are never zero.
package stats
