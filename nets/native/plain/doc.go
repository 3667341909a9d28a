// Package plain computes networks, losses and optimisers in plain Go, in float32 and float64. It is the text
// that the other backends are tested against, the backend of float64 engines, and what runs where there is no
// assembly, such as on arm64.
//
// A layer is a file that holds its forward and its backward pass with the equations beside them: linear,
// activation, layernorm, mlp, meanfield with its mixes (mean, attention, joint), gumbel, and graph for networks
// over graphs. Losses are in loss.go and policy.go; [Operands] computes them for other backends too. Tensors
// are row-major. The matrix products are gonum's (product.go).
//
// What is not here: checks of operands (core), threads, and recorded programs: a recorded update calls its
// function each time.
package plain
