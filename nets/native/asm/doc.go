// Command asm writes the assembly of package kernel, for AVX-512 and for AVX2 with FMA, and the Go declarations
// of its functions. It is a module of its own, so that who builds Stoker needs neither avo nor what that
// depends on. After a change here:
//
//	go generate ./nets/native/kernel
//
// Both sets come from the same functions. Those on tiles and slices are written in vecs of sixteen float32
// (lanes.go), one register or two, so that both do the same operations in the same order; the product, the
// transpose and the vector's product are written in registers of either width, where width does not show in the
// result. Functions are leaves without a stack check: they are short (package kernel cuts long work into
// pieces), touch no memory beyond the slices' ends (masks cut what fills no register), and leave the upper
// halves of the registers clean.
//
// Nothing is checked here: slices' lengths are package kernel's affair.
package main
