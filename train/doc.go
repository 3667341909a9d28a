// Package train runs experiments: it makes a run folder from a configuration.
//
// [Start] makes the folder, [Resume] continues one; both run the same loop (loop.go) until the planned steps are
// done or a signal comes, and then save. What belongs to results (metrics.jsonl, checkpoints) has no times in it, so
// that an interrupted run that was resumed leaves the same bytes as one that was not; times are in timing.jsonl,
// run.json and the event files.
//
//	runs/NAME/
//	  run.json        status, resolved configuration, and the sessions: command, revision, machine, workers, times
//	  config.yaml     the resolved configuration, from which it resumes
//	  metrics.jsonl   a line per log and evaluation: step and values
//	  timing.jsonl    a line per log: time, rate and shares of time; what a killed process logged beyond its checkpoint stays
//	  tensorboard/    event files
//	  checkpoints/    step-…, and the pointers latest and best
//	  lock            held while a process works on the run
//
// A folder is made under another name, .tmp-NAME, and renamed when all that resuming needs is in it: the
// configuration and a checkpoint of step 0. Everything but lock and event files is written through a durable.FS,
// where tests kill, cut and fill up.
//
// Resuming first checks all that it reads, and changes nothing where it refuses: every byte of the latest checkpoint,
// the line of latest, run.json's own checksum, config.yaml against the checkpoint's copy, and metrics.jsonl up to
// where it stood then (docs/results/damage). A run that is stopped in an evaluation saves step-…-stopped, and begins
// the evaluation again.
//
// Not here: what learners do (package agents), the format of checkpoints (package checkpoints), comparison of what was
// trained (package eval).
package train
