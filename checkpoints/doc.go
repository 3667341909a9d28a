// Package checkpoints saves the state of a run so that it survives crashes, power cuts and full disks.
//
// A checkpoint is a folder: manifest.json (its kind, the config that shapes results, counters, random states, the hash
// of every file), tensors as safetensors, opaque states, replay as segments, and MANIFEST.sha256, written last in
// sha256sum's format. A [Writer] builds the folder under a temporary name and renames it. [Open] verifies every byte;
// it refuses a damaged, unfinished or foreign folder and names the file and the fault. A [Store] is the folder of a
// run's checkpoints with the pointers latest and best. [Check] verifies a checkpoint or a whole run.
//
// The same state gives the same bytes: a checkpoint holds no times, process ids or machine names.
//
// The content of the states is defined by learners, environments and train. Crash-safe files are package durable, the
// tensor format is package safetensors. The package needs only the standard library and golang.org/x/sys, so that a
// program that only serves a policy can import it.
package checkpoints
