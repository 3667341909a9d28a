// Package check says what is wrong with what a learner is made for, in the same words for all learners.
//
// Not here: what a configuration's values may be (package bounds and each learner), and reading configurations
// (configs).
package check
