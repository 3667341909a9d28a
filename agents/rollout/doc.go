// Package rollout runs policies, tuners and planners through episodes. Evaluation during training, comparison afterwards
// and examples use it, so that all count the same steps in the same way; every step in which an actor acts counts.
//
// Not here: several environments at once and learning in them (package train), comparing results (package eval).
package rollout
