// Package core is the part of the engines on the CPU that does no arithmetic. It implements package nets' contract once
// for all backends: it checks operands and shapes, stores the first failure, and in debug mode compares the
// operations of a recorded update's runs.
//
// A [Backend] does the arithmetic on tensors of its own type X, which it lays out in memory as it likes:
// row-major in plain and in nets/gorgonia, in tiles of samples in tile. [Engine] and everything that it returns are
// generic over X, so a backend gets its own tensors and casts nothing. A [Graphs] does the same for networks over graphs.
//
// What is not here: arithmetic, memory layouts, threads, and the choice of a backend (package native).
package core
