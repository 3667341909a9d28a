// Package sim is the serverless GPU simulator: a discrete-event model of functions, their instances and the
// nodes that carry them, on a clock of integer microseconds.
//
// What lives here: service demands and cold starts as laws drawn by name (package rng), instances with a
// concurrency limit and contention inside them, FIFO queues with losses and timeouts, keep-alive, resizing by
// rolling or fresh deployment, placement on nodes with CPU, memory and GPU slices, meters and prices. What
// does not: workflows, users and arrivals. A caller submits requests and is told of each one's end through a
// [Handler] inside the event loop; sequences, joins, branches, loops and closed-loop users are built above by
// submitting more.
//
// A simulation is a value: [Sim.CopyFrom] copies all of it and [Sim.AppendBinary] saves all of it. After a
// warm-up nothing allocates, and the cost of an event does not depend on how many instances there are.
package sim
