// Package netstest compares an engine's gradients with central finite differences, in the manner of
// testing/fstest: [Gradients] takes any engine of package nets through the networks of [Archs] and the losses
// of [Losses], and says how far apart the two are. [GraphGradients] does so for the networks over graphs of
// [Graphs], whose cases also say how far apart two engines are ([RunGraph]), and what all engines owe misuse
// and empty batches of those networks ([GraphMisuses], [EmptyGraphs]).
//
// Not here: whether engines agree with each other over whole updates (the tests of nets/engines), and what an
// engine does on misuse of other networks, which is its own package's affair.
package netstest
