// Package choicetest is what the tests of learners share: a small environment with a mask ([Toy]), training as a
// shipped configuration says ([Train], [Seeds]), one step of a learner at a time ([Loop]), learning curves as files and
// figures ([WriteCurves], [Draw]), and forged states and policy files ([FuzzState], [Forge]).
//
// Not here: learners and their claims, which stand beside the learners, and the layout of saved states
// (envs/state/statetest).
package choicetest
