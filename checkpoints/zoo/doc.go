// Package zoo holds trained policies that come with the program: policy checkpoints of at most [MaxBytes], embedded,
// verified byte by byte when they are opened like any checkpoint, each with a card that says what it is, how it was
// made and how it did.
//
// An entry is the folder NAME: policy holds the checkpoint, card.json the [Card], CARD.md the same for people. [Make]
// writes all three from a run's checkpoint and from what `stoker eval` found; nothing in a card is written by hand but
// a sentence of what the policy is for. A policy of the zoo is named zoo:NAME wherever the program takes a checkpoint.
//
// What opens a policy for acting is package catalog, above this one; nothing here needs more than the standard library.
package zoo
