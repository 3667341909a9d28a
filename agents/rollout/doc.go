// Package rollout runs whoever acts through episodes: policies, tuners and planners alike, so that evaluation during
// training, comparison afterwards and examples count the same steps the same way. Every step in which somebody acts is
// charged.
//
// Not here: many environments at once and learning in them (package train), the comparison of what episodes gave
// (package eval).
package rollout
