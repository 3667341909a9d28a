// Package replay is the replay memory: transitions as rows of float32 in named columns. New rows overwrite the oldest, and
// the caller owns the stream that samples them.
//
// Rows are numbered from 0 since the beginning of the run. A checkpoint saves them as append-only segments by number, so
// that the next checkpoint links what the last one wrote.
//
// Not here: what the columns mean (the learners), files (package checkpoints).
package replay
