// Package native is the CPU engine: every layer, loss and optimiser of package nets, without cgo, in plain Go and in Go over assembly.
//
// It trains, acts and serves. Everything is generic over float32 and float64: learners use float32, proofs
// float64. A layer is a file that holds its forward and its backward pass with the equations beside them: linear, activation,
// layernorm, mlp, meanfield with its mixes (mean, attention, joint), gumbel. What the time goes into stands behind the
// small functions of kernels.go; the matrix products are gonum's.
//
// On processors with AVX2 the float32 engine computes with the assembly of package kernel instead, on feature-major tiles (tile.go): the files
// whose names begin with tile hold the same layers in that form. There a recorded update becomes a program (program.go) that takes each tile of the
// batch through all operations up to the next optimiser step while it is in the cache, the work shared by a few threads (segment.go, pool.go) where that is
// faster than one (pace.go).
//
// Networks over graphs are in the files whose names begin with graph: graphplain in plain Go, an edge at a time, and graphfast with kernels, on
// row-major rows of nodes, block by block.
//
// Results do not depend on the number of threads, nor on what else the machine does: outside a recorded update each operation runs on the
// goroutine that calls it, inside the batch is cut into a number of shares that follows from its size, and sums have a fixed
// order. The two assemblies give the same bits; plain Go is another family. The first failure sticks, as package nets says, with
// the operation and the shapes.
//
// With Options.Debug, or STOKER_DEBUG=1 in the environment, the engine compares each run of a recorded update with the first and
// fails where the lists of operations differ: what passes here can be captured by an engine that replays.
//
// What is not here: descriptions of networks, their checks and initial values (package nets), other devices (nets/torch).
package native
