// Package replay keeps transitions for learning: rows of float32 in named columns, the oldest overwritten, sampled by
// streams that the caller owns.
//
// Rows are numbered from 0 since the beginning of the run. A checkpoint saves them as append-only segments by number,
// so that what one checkpoint wrote the next one links. Not here: what the columns mean (the learners), files (package
// checkpoints).
package replay
