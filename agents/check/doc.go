// Package check says what is wrong with a learner's configuration ([Keys]) and with what it is made for ([Context]), in the same words for all
// learners.
//
// Not here: which values are right, which each learner knows, and reading configurations (configs).
package check
