// Package engines is the one table of engines: it opens them by name for those who run programs.
//
// Native is in every binary. Torch is in binaries built with the tag libtorch (make cuda); elsewhere opening it
// is an [UnavailableError], on which a command line runs the other binary in its place. Gorgonia, the slow
// reference, is in binaries built with the tag gorgonia, and in the tests here with any tags.
//
// The tests here compare all engines of a binary with each other over whole updates, and each with finite
// differences. Not here: engines themselves, and learners, which know package nets only.
package engines
