// Package zoo holds the trained policies that are embedded in the program: policy checkpoints of at most [MaxBytes].
// Like any checkpoint they are verified byte by byte when opened. Each has a card that says what it is, how it was
// trained and how it performed.
//
// An entry is the folder NAME with the checkpoint in policy, the [Card] in card.json, and the same as a page in
// CARD.md. [Make] writes all three from a run's checkpoint and the results of `stoker eval`; only the sentence about
// the policy's purpose is written by hand. zoo:NAME names a policy wherever the program takes a checkpoint.
//
// Package catalog, above this one, builds a policy that can act. This package needs only the standard library.
package zoo
