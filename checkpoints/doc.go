// Package checkpoints keeps the state of a run so that nothing ends it: not a crash, not a power cut, not a
// full disk.
//
// A checkpoint is a folder: manifest.json (what it is, the config that shapes results, counters, random states,
// the hash of every file), tensors as safetensors, opaque states, replay as segments, and MANIFEST.sha256 last,
// in sha256sum's format. A [Writer] builds it beside its place and renames it there; [Open] verifies every byte
// and refuses what is damaged, unfinished or foreign, naming the file and the fault. A [Store] is the folder
// of a run's checkpoints with its pointers, latest and best; [Check] verifies a checkpoint or a whole run.
//
// The same state gives the same bytes: no times, process ids or machine names are in a checkpoint.
//
// What the states mean belongs to learners, environments and train. Files that outlive a crash in general are
// package durable, the tensor format package safetensors. Nothing here needs more than the standard
// library and golang.org/x/sys, so a program that only serves a policy can import it.
package checkpoints
