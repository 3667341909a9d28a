// Package plain computes networks, losses and optimisers in plain Go, in float32 and float64. It is the text
// that the other backends are tested against, the backend of float64 engines, and what runs where there is no
// assembly, such as on arm64.
//
// Each layer has its forward and its backward pass with the equations beside them: mlp.go those of MLPs, meanfield.go
// and attention.go the mixes, actions.go heads that draw actions, and graph.go networks over graphs. Losses are in
// loss.go; [Operands] computes them for other backends too. Tensors are row-major. The matrix products are gonum's.
//
// What is not here: checks of operands (core), threads, and recorded programs: a recorded update calls its
// function each time.
package plain
