// Package graph computes networks over graphs ([nets.Graph]) with kernels, on row-major rows of nodes, block by block.
//
// A file is a part of the pass: blocks plans a batch's memory, forward and backward go through the layers, head
// and headback through the heads, and params arranges the parameters in padded rows. plain/graph.go computes
// the same an edge at a time and has the equations.
//
// What is not here: the kernels themselves (kernel), tensors and optimisers (tile), checks (core).
package graph
