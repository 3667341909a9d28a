// Package kernel holds the inner loops of the CPU engine: products of a small matrix with a tile of samples,
// activations, softmax over neighbours, layer normalisation and Adam. A tile is feature-major: the values of
// one feature for T samples (its lanes) lie side by side and T is a multiple of [Lanes], so that vector
// instructions run over samples and nothing is gathered.
//
// A [Set] is one way of computing them all: assembly for AVX-512, assembly for AVX2 with FMA, or the Go that defines
// what they compute. The two assemblies give the same bits: every sum has one order, k after k with fused
// multiply-adds, or [Lanes] partial sums and then a tree. Networks, losses, batches and threads are in the packages
// above.
//
// The assembly is written by the module in ../asm.
package kernel

//go:generate go run -C ../asm . ../kernel
