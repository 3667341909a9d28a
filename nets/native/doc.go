// Package native is the CPU engine: every layer, loss and optimiser of package nets in plain Go, without cgo.
//
// It trains, acts and serves. Everything is generic over float32 and float64: learners use float32, proofs
// float64. A layer is a file that holds its forward and its backward pass with the equations beside them: linear, activation,
// layernorm, mlp, meanfield with its mixes (mean, attention, joint), gumbel. What the time goes into stands behind the
// small functions of kernels.go; the matrix products are gonum's.
//
// Results do not depend on the number of threads: each operation runs on the goroutine that calls it, and sums have
// a fixed order. The first failure sticks, as package nets says, with the operation and the shapes.
//
// With Options.Debug, or STOKER_DEBUG=1 in the environment, the engine compares each run of a recorded update with the first and
// fails where the lists of operations differ: what passes here can be captured by an engine that replays.
//
// What is not here: descriptions of networks, their checks and initial values (package nets), other devices (nets/torch).
package native
