// Package workload generates the arrivals of requests, from real traces or from models fitted to them.
//
// [ReadTrace] reads a folder of the Azure Functions 2019 trace (the publisher's own files, or In-Vitro's samples of
// them) into a [Trace]; [Embedded] is a sample of 50 functions inside the program. [Open] turns a [Config] into a
// [Source]: the trace itself, a Poisson, bursty or periodic process, a process calibrated to a trace, or closed-loop
// users. An open-loop source returns [Arrivals] in order of time, from any point in time; a closed-loop source returns
// [Users].
//
// Every draw is keyed by (seed, purpose, stream, minute, arrival) or (seed, purpose, user, request), never by the order
// of service, so that two policies with the same seed face the same load.
//
// What a request does after its arrival is in package workflow and in the simulator.
package workload
