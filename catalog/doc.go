// Package catalog lists what a program can train, face and compare: environments, learners and baselines, one row each.
// Listings, the configuration schema, completion, golden traces, fuzzing, the conformance checks and the tables in
// docs/ follow from the rows.
//
// A [Catalog] is a value. [Default] returns the one that comes with Stoker; a program of one's own adds rows of its own
// to it. No package registers itself.
//
// Not here: the environments, learners and baselines themselves (envs, agents), and what runs them (train, eval).
package catalog
