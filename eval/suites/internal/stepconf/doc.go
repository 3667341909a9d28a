// Package stepconf is the suite of StepConf (joint optimisation of parallelism and resource configuration for serverless
// function steps): the laws of a step's time and how well they are fitted (Figs. 3 to 7, 16, 17), how its algorithm and
// its rivals keep limits and what that costs (Figs. 18 to 21), what deciding and mapping take (Figs. 22, 23), and the
// cost of every decider at equal misses, which the paper does not have.
//
// StepConf published neither code nor data. Its workflows' laws are this project's: their seconds and USD are not the
// paper's.
package stepconf
