// Package libtorch finds a libtorch on this machine, or fetches one, and fits
// the C bindings of gotch to it, so that nets/torch builds with plain
// `go build -tags libtorch` and no environment variables. It also tells the
// cgo-free stoker binary what was found, and how to start stoker-torch, the
// binary with libtorch, in its place.
//
// Everything big lives under the user's cache folder, never in a checkout: the
// fetched libtorch, and the fitted copy of gotch: only what nets/torch calls of
// it, its C++ compiled once into an archive. A checkout only gets two git-ignored files: go.work, which
// replaces gotch by the fitted copy, and nets/torch/zz_libtorch.go with the
// compiler flags for that package's own C++.
//
// The package is plain Go over the standard library: no cgo, no build tag, and
// no tensor. What computes with libtorch is nets/torch.
package libtorch
