// Package durable holds files that outlive a crash: atomic replacement, append-only logs, the lock of a run
// folder, and the seam through which everything below checkpoints touches the disk.
//
// [FS] is that seam. [OS] is the real file system; durabletest.WithHooks wraps any FS so that a test or a failpoint can
// fail, cut short or end the process at any write, sync, rename or removal, counted one by one. Package
// durabletest has an FS in memory that forgets what was never synced, as a power cut does.
//
// What a file means is not known here: checkpoints are package checkpoints, their tensors package safetensors.
package durable
