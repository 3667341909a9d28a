// Package gorgonia is the reference engine: the networks and losses of package nets as expression graphs of
// gorgonia.org/gorgonia, whose automatic differentiation knows nothing of the other engines. It is slow, and
// here to hold their gradients against.
//
// A network is a graph per agent over matrices of [batch, features]: an agent's own features, what it sees of
// others, and the parameters that it uses are leaves of the graph, rows of a weight being a leaf of their own
// where inputs stand side by side, so that nothing needs to be joined or cut apart within a graph. Gradients
// are gorgonia's symbolic ones ([gorgonia.Backpropagate]); losses are graphs too. What the learner's arithmetic
// is beside gradients (Adam, targets, sums of agents' gradients) is plain Go.
//
// Networks over graphs (graphnetpass.go) have edges as dense matrices of incidence, so that all in them is
// products of matrices. Each call builds its expressions anew, since sizes differ from batch to batch; memory
// and time go with nodes × edges.
//
// Graphs run operation by operation in order (program.go), not on gorgonia's tape machine: that one reuses
// registers and merges nodes by a hash of 32 bits, which a reference shouldn't have to trust. Gorgonia's
// operations and tensors are used as they are but for its softmax (softmax.go), each result in memory of its
// own; so an update allocates.
//
// What it computes otherwise than the other engines do: an activation of −Inf leaves ReLU as NaN, where they
// give 0, and the clipped surrogate is NaN where π(a)/π_old(a) is beyond the range of numbers. Everything else
// in package nets is here.
//
// Recorded updates are called each time. What is not here: descriptions of networks (package nets), the table
// of engines (nets/engines), and devices other than the CPU.
package gorgonia
