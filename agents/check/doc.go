// Package check refuses environments, engines and numbers that a learner cannot use, in the same words for all learners.
//
// Not here: bounds of configurations (package bounds), and reading configurations (package configs).
package check
