// Package native is the CPU engine, without cgo: every network, loss and optimiser of package nets. [New]
// chooses how it computes.
//
//	native   New: chooses a backend by number format, CPU and options
//	core     package nets' contract: checks, errors, the debug mode; generic over the backend's tensors
//	plain    backend in readable Go, float32 and float64: the text that others are tested against, and what runs on arm64
//	tile     backend of float32 with kernels, on tiles of samples; recorded updates become programs for a few threads
//	graph    networks over graphs with kernels, beside tile
//	kernel   the inner loops: assembly for AVX-512 and AVX2 (written by the generators in asm), and the Go that
//	         defines what they compute
//
// Arrows: native → plain, tile, graph; tile → plain (losses); graph → tile; all → core and kernel. Threads are those of internal/pool.
//
// Results do not depend on the number of threads, nor on what else the machine does: outside a recorded update
// each operation runs on the goroutine that calls it, inside one the batch is cut into a number of shards that
// follows from its size, and sums have a fixed order. The two assemblies give the same bits; plain Go is
// another family. The first failure sticks, as package nets says, with the operation and the shapes.
//
// With Options.Debug, or STOKER_DEBUG=1 in the environment, the engine compares each run of a recorded update
// with the first and fails where the lists of operations differ: what passes here can be captured by an engine
// that replays.
//
// # Adding a loss
//
// A loss is four files: nets/loss.go (its type, args and constants, and a row of Losses), and its equation in
// plain/loss.go, nets/torch/loss.go and nets/gorgonia/loss.go. Tiles compute it by the text in plain, and the tests of
// all engines take it from Losses. A form for tiles (tile/loss.go) is only for speed.
//
// # Adding a layer
//
// A layer of an MLP, such as a norm, is nine files (a layer of its own, such as SquashedGaussian in nets/actions.go, has
// the same without the MLPs, and its kind in nets/arch.go and in the NewNet of each engine):
//
//   - its description: nets/mlp.go
//   - plain: plain/mlp.go
//   - tiles: a file of its own, and its place in tile/layers.go
//   - the other engines: nets/torch/mlp.go and nets/gorgonia/kinds.go
//   - a network with it for the tests of all engines: nets/internal/netstest/netstest.go
//   - the configuration key that offers it, such as norm in agents/maddpg/config.go
//
// An activation needs no files of its own: it is a case in plain/mlp.go and tile/layers.go. With a kernel of its
// own instead of a file in tile, a layer also changes kernel/kernel.go, reference.go, checked.go and choose_amd64.go,
// and has a generator in asm.
//
// What is not here: descriptions of networks, their checks and initial values (package nets), other devices
// (nets/torch).
package native
