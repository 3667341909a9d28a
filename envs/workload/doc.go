// Package workload says when requests arrive: it reads real traces and generates load like them.
//
// [ReadTrace] reads a folder of the Azure Functions 2019 trace (the publisher's own files, or In-Vitro's samples of
// them) into a [Trace]; [Embedded] is the 50-function sample that the program carries. [Open] turns a [Config] into a
// [Source]: the trace itself, a Poisson, bursty or periodic process, one calibrated to a trace, or
// closed-loop users. A source gives [Arrivals], in order, from any point in time, or [Users].
//
// Every draw is keyed by (seed, purpose, stream, minute, arrival) or (seed, purpose, user, request) and none by the
// order of service, so that two policies with one seed face the same load.
//
// What a request does when it has arrived is not here: see package workflow and the simulator.
package workload
