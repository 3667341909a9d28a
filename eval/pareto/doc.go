// Package pareto compares families of policies by their frontiers: price over violations, one point for each setting of
// a key, and the price at equal violations by interpolation along each frontier.
//
// All policies face the same workload seeds. Intervals are of a bootstrap that draws workload seeds for all families
// together, and the training seeds of each family for all of its points together.
package pareto
