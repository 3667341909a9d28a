// Package durable holds crash-safe files: atomic replacement, append-only logs, the lock of a run folder, and the file
// system interface that package checkpoints uses.
//
// [FS] is that interface and [OS] the real file system. durabletest.WithHooks wraps any FS so that a test can make the
// n-th write, sync, rename or removal fail, cut it short, or end the process there. Package durabletest has an FS in
// memory that loses what was never synced, as a power cut does.
//
// The content of files is not known here: checkpoints are package checkpoints, their tensors package safetensors.
package durable
