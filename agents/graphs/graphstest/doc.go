// Package graphstest is a small environment over graphs whose best choices are known, for tests of learners that choose
// within graphs.
//
// Not here: those learners (agents/reinforce), and environments to train in (envs).
package graphstest
