// Package kernel holds the inner loops of the CPU engine: products of a small matrix with a tile of samples,
// activations, softmax over neighbours, layer normalisation and Adam. A tile is feature-major: the values of
// one feature for T samples (its lanes) are contiguous and T is a multiple of [Lanes], so that vector instructions
// run over samples and need no gather loads.
//
// A [Set] is one implementation of all of them: assembly for AVX-512, assembly for AVX2 with FMA, or the Go code
// that defines the results. Both assemblies give the same bits, because every sum has a fixed order: either k by k
// with fused multiply-adds, or [Lanes] partial sums that are then added as a binary tree.
//
// What is not here: networks, losses, batches and threads (packages tile, graph and pool). The assembly is generated
// by the module in ../asm.
package kernel

//go:generate go run -C ../asm . ../kernel
