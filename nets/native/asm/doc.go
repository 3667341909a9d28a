// Command asm writes the assembly of package kernel, for AVX-512 and for AVX2 with FMA, and the Go declarations
// of its functions. It is a module of its own, so that building Stoker needs neither avo nor its dependencies.
// After a change here run
//
//	go generate ./nets/native/kernel
//
// The same Go functions generate both sets. Kernels on tiles and slices use vecs of sixteen float32 (lanes.go), one
// register of AVX-512 or two of AVX2, so that both sets do the same operations in the same order. The product, the
// transpose and the vector's product use registers of either width, because there the width does not change the
// result. Functions are leaves without a stack check: they are short (package kernel splits long work into pieces),
// use masks for the last elements so that they touch no memory beyond a slice, and clear the upper halves of the
// registers.
//
// What is not here: checks of slices' lengths (package kernel).
package main
