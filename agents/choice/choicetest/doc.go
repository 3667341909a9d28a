// Package choicetest is what the tests of learners of choices share: a small environment with a mask ([Toy]), training
// on an environment as a shipped configuration says ([Train], [Seeds]), one step of a learner at a time ([Loop]), the
// curves of several seeds kept as files and drawn ([Keep], [Draw]), and forged states and policy files ([FuzzState],
// [Forge]).
//
// Not here: learners and their claims, which stand beside the learners.
package choicetest
