// Package choicetest is what the long proofs of learners of choices share: training on an environment as a shipped configuration says
// ([Train]), with a point of the learning curve now and then, and the curves of several seeds kept as files and drawn ([Keep], [Draw]).
//
// Not here: learners and their claims, which stand beside the learners.
package choicetest
