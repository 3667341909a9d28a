// Package gorgonia is the reference engine: the networks and losses of package nets as expression graphs of
// gorgonia.org/gorgonia. Its automatic differentiation is independent of the other engines, so their gradients are
// tested against it. It is slow.
//
// A network is one expression graph per agent over matrices [batch, features]. The leaves of the graph are the
// agent's features, the features of other agents that it sees, and its parameters. Where a layer has several inputs,
// the rows of its weight for each input are a leaf of their own, so that a graph never concatenates or slices.
// Gradients are gorgonia's symbolic ones ([gorgonia.Backpropagate]); losses are graphs too. The rest of an update
// (Adam, targets, sums of agents' gradients) is plain Go.
//
// Networks over graphs (graphnet.go) represent edges as dense incidence matrices, so that they need only matrix
// products. Each call builds its expressions anew, because sizes differ from batch to batch. Memory and time grow
// with nodes × edges.
//
// Graphs run operation by operation in order (graph.go). Gorgonia's tape machine is not used: it reuses registers
// and merges nodes by a 32-bit hash, which a reference should not depend on. Gorgonia's operations and tensors are
// used, but for its softmax. Each result has its own memory, so an update allocates.
//
// Two results differ from the other engines': ReLU of −Inf is NaN (there 0), and the clipped surrogate is NaN where
// π(a)/π_old(a) overflows. Everything else in package nets is supported.
//
// A recorded update calls its function on each run. What is not here: descriptions of networks (package nets), checks of
// operands and shapes (nets/internal/core), the table of engines (nets/engines), and devices other than the CPU.
package gorgonia
