// Package perfmodel models the work of a request in a function, the speed of an instance, and the price of resources.
//
// A [Law] is the performance model of one function: the work of a request and the speed of an instance with a given CPU
// limit. They give D(cpu), the service time of a request that is alone in an instance. Waiting, rejection and
// contention are not here: they result from the simulation (package sim), whose inputs are D and the noise around it.
// [FaaSConf] returns the laws of FaaSConf's functions. They are fitted so that the simulated latencies agree with the
// published measurements, which [ReadFaaSConf] reads; [FaaSConfFit] returns the regression over them. The tests in
// envs/sizing/calibrate repeat the fit. [Rates] are the prices.
//
// Platforms that give CPU with memory have laws of their own, in package memory, bills in package bill, and quantiles of
// delays in package quantile, all below this one.
package perfmodel
