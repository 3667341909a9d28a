// Package misses is the suite misses: what deciders of workflows' steps cost at equal misses. Every rule and planner of
// [steps.ID], and each policy of the zoo that was trained there, plays the same requests at several settings of its
// quantile or of the price of a miss; costs are read at 1 and 5 % of late requests (package atmiss).
//
// Generated workflows are those kept for tests, from number [steps.FirstUnseen] on. The figures of StepConf's paper are
// suite stepconf.
package misses
