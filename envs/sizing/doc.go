// Package sizing is FaaSConf as an environment, stoker/Sizing-v2: one agent per function of a workflow decides, for
// each window of 30 s, that function's CPU, memory, replicas and concurrency limit (Wang et al., ASE 2024).
//
// Nothing of a latency is drawn from a fit. Users in a closed loop, or arrivals from a trace, walk through the
// workflow's graph (package workflow); each visit of a function is a request to the simulator (package sim) with the
// service demand that its law gives (package perfmodel); replicas, concurrency limits, memory and contention act
// through the simulator's instances. The platform is OpenFaaS as FaaSConf ran it: each request goes to a random
// instance, which refuses it when it is at its limit. The workflow then continues with an invalid input, so that the
// request fails in the end.
//
// What is where: config.go says what can be configured; app.go which functions, ranges and laws an application has;
// qos.go and thresholds.go the thresholds; env.go Reset and Step; window.go the two protocols, every window a fresh
// deployment or all of them one operation; world.go and gate.go what happens to a request; deploy.go what a
// configuration means; measure.go a window's numbers; observe.go what agents see and earn; state.go what changes in an
// episode, copies and saved state. Package calibrate redoes the laws' fit and the thresholds; the baselines are in
// agents/baselines/sizing.
package sizing
