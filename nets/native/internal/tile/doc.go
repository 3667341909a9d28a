// Package tile computes networks, losses and optimisers in float32 with kernels, on feature-major tiles of
// samples (tiling.go).
//
// layers.go has an MLP's layers; mlp, field (with attention), joint, sharedjoint and gumbel are the kinds of networks, each
// a [model] that divides a pass into stages. A recorded update becomes a program (program.go): it takes each
// tile of the batch through all operations up to the next optimiser step while the tile is in the cache
// (segment.go), on a few threads where that is faster than on one. A policy that acts on a few samples needs no
// tiles (rows.go).
//
// The equations are in plain, whose files have the same names. What is not here: the kernels themselves
// (kernel), threads (pool), checks (core).
package tile
