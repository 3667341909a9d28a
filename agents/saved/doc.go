// Package saved writes and reads what learners and policies keep. A learner lists its tensors, optimisers, counters and
// parts once, as [Parts]; saving, loading, and adopting another run's weights follow. A policy lists its fields as a
// [state.Stater]; [CopyPolicy] is its CopyFrom.
//
// Not here: the bytes of one part (envs/state), files (checkpoints), and what the state means (each learner).
package saved
