// Package agents is the contract between learners and the loop that trains them.
//
// A [Learner] owns parameters, targets, optimiser, normalisers and replay. It acts in all copies of an environment at once,
// observes the transitions, and updates itself. It knows package nets and no engine. What it saves is a [State]: named
// arrays, blobs and counters, from which it continues bit for bit.
//
// What leaves training is a [Policy]: an envs.Policy that acts without exploring, stored as a [PolicyFile], which
// evaluation, export and serving read.
//
// Not here: the learners and heuristics (folders below this one), the table of them (package catalog), run folders and
// schedules (package train).
package agents
