// Package rng holds Stoker's random numbers: every draw has a name.
//
// A [Key] is a counter-based generator. It turns (seed, purpose, coordinates) into a number by hashing, so
// that a draw does not depend on what was drawn before it: two policies that face one seed face the same
// world whatever order they serve it in. Environments use keys.
//
// A [Stream] is a key and a counter. It is consumed in order and its state can be saved; learners use
// streams for initial weights, exploration, minibatches and bootstraps. It is a math/rand/v2 Source.
//
// Nothing here reads the clock or the operating system's entropy.
package rng
