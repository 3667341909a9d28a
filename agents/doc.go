// Package agents is the contract between those who learn and the loop that trains them.
//
// A [Learner] owns parameters, targets, optimiser, normalisers and replay; it acts on all copies of an environment
// at once, is told what came of it, and updates itself. It knows package nets and no engine. What it saves is a
// [State]: named arrays, blobs and counters, from which it goes on bit for bit.
//
// What it learns leaves it as a policy: an envs.Policy that acts without exploring, described by a [PolicyFile], which
// evaluation, export and serving read.
//
// Not here: the learners and heuristics (folders below this one), the table of them (catalog), run folders and
// schedules (package train).
package agents
