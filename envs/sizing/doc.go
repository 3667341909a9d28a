// Package sizing is FaaSConf as an environment: one agent per function of a workflow decides, for each window of 30 s,
// that function's CPU, memory, replicas and concurrency limit (Wang et al., ASE 2024). It has two names:
// stoker/Sizing-v2 is the published system, in which a refusal by starter spoils nothing; stoker/Sizing-v3 counts it.
//
// Latencies are simulated, not drawn from a fitted distribution. Requests of closed-loop users, or of a trace, run
// through the workflow's graph (package serve). Each visit of a function is a request to the simulator (package sim);
// its work comes from the function's law (package perfmodel). Replicas, concurrency limits, memory and contention act
// through the simulator's instances. The platform is OpenFaaS as FaaSConf used it: each request goes to a random
// instance, which refuses it at its concurrency limit. The workflow then continues with an invalid input, and the
// request fails at its end.
//
// Files: config.go has the configuration; app.go an application's functions, ranges and laws; qos.go and thresholds.go
// QoS thresholds and rewards; env.go Reset and Step; window.go the two protocols, a new deployment for every window or one
// deployment that continues, and what a visit takes; measure.go the measurements of a window, and what is reported and
// observed of them; meters.go, resources.go and observer.go what a platform measures and is given, from which the
// environment makes its observations too; described.go the features that fit any workflow; many.go several workflows side
// by side; state.go the state of an episode, its copies and its saved form. Package calibrate repeats the fit of the laws
// and of the thresholds; the baselines are in agents/baselines/sizing.
package sizing
