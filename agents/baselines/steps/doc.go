// Package steps decides how each step of a workflow runs: memory, instances and processes (package envs/steps). It has
// StepConf's Algorithm 1 and the baselines of its paper, and planners that go beyond.
//
//	stepconf        Algorithm 1: the time left is shared along the critical path    before every step
//	stepconf-inter  the same with one process an instance
//	stepconf-intra  the same with a fixed number of instances
//	vanilla         the critical path method over memory alone                      before the first step
//	orion           memory by the quantile of the end-to-end time                   before the first step
//	cose            memory by laws that a Gaussian process sampled                  before every step
//	oracle          the exact front of predicted times                              before the first step
//	replan          the exact front of what is left                                 before every step
//	dp              the stochastic optimum over step and time left, on chains       before every step
//	lookahead       the least expected price by what policies see                   before every step
//	hindsight       the optimum for one who knows all draws: a bound
//
// All read the model's predicted times at a quantile, which trades price against misses; dp reads the price of a miss.
//
// A [steps.Decider] decides for a model and a [steps.Moment], wherever the request runs. [Acting] lets one play in the
// environments. Fronts are from package frontier; comparisons at equal misses are in eval/atmiss.
package steps
