// Package variants holds the published heuristics that configure a whole workflow, for models of package
// envs/variants.
//
//	PRCP            the probability-refined critical path (Lin and Khazaei), four strategies, in both directions
//	BCRMax          OptiServe with the benefit-cost ratio of eq. 4.8
//	BCRSlope        OptiServe with the slope of eq. 4.9
//
// All are one greedy search. It looks at the ways through the workflow one after another, by their weight W (OptiServe,
// eq. 4.6), and changes one function of a way at a time. The objective decides the direction: the least time starts
// from the smallest sizes and spends the budget, the least cost starts from the largest sizes and spends the time that
// is left, and the greatest accuracy (eq. 4.10) starts from the least cost. Where an accuracy is asked for, variants are
// chosen first (OptiServe, Algorithm 1, eq. 4.7).
//
// [Options] say which reading of the papers is meant. [Published] is what the published programs compute, with their
// defects; [Corrected] is without them. docs/optiserve.md compares both with the exact optimum.
package variants
