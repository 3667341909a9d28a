// Package shipped holds tests of the trained policies that come with Stoker: each is what its card says, can be made again, acts in its
// environment, and is better than the baselines that it is said to beat.
//
// Not here: the policies and their cards (checkpoints/zoo), and what compares them (package eval).
package shipped
