// Package engines is the one table of engines: it opens them by name for those who run programs.
//
// Native is in every binary. Torch is in binaries built with the tag libtorch (make cuda); elsewhere opening it is
// an [UnavailableError], on which a command line runs the other binary in its place. Gorgonia is not in this version.
//
// The tests here hold all engines of a binary against each other over whole updates. Not here: engines themselves, and learners, which
// know package nets only.
package engines
