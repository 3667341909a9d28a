// Package perfmodel holds laws of what functions demand, and what their resources cost.
//
// A [Law] says how much work one request asks of a function and how fast an instance with a given CPU limit does it:
// D(cpu), the service time of a request that is alone. Waiting, rejection and contention are not here: they come about
// in the simulator (package sim), which is given D and the noise around it. [FaaSConf] gives the laws of FaaSConf's
// functions, fitted so that the latencies that come out of the simulation are those of its published measurements
// ([ReadFaaSConf] reads the file, [FaaSConfFit] holds the regression that describes it); the program in
// envs/sizing/calibrate redoes the fit. [Rates] is the price.
package perfmodel
