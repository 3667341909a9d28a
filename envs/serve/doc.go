// Package serve lets requests walk a workflow over simulated functions: what an environment whose requests run through
// a task graph on a serverless platform is built on.
//
// A [Walk] joins three parts. The load (package workload) says when requests begin: arrivals of a trace or a process,
// or closed-loop users. The tracker (package workflow) says which node follows which. The simulator (package sim) runs
// each task of a node on an instance of its function.
//
//	load → request → visit of a node → its tasks → simulator
//	                    ↑                              │ a task ends
//	                    └── tracker: the next visits ←─┘ the last of the visit's
//
// A visit is one run of a node within a request. It has one task, or fans out to several; a given number of them run
// together, and the visit ends with the last. A node that calls others holds a place at its function until they have
// returned: the places are a gate, with a queue. A request that fails goes on with a spoilt input, or is aborted.
//
// The environment says by [Hooks] how much work a task is and into how many tasks a visit fans out, and hears how runs
// and requests end. All draws are the environment's, keyed by [Visit.Key], so that two policies face the same draws.
// Nothing allocates per event after a warm-up. A walk is copied, saved and restored bit for bit.
//
// Deployments are the simulator's ([Walk.Sim]); measurements, prices and rewards are the environment's.
package serve
