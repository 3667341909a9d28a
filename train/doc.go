// Package train runs experiments: a configuration goes in, a run folder comes out.
//
// [Start] makes the folder, [Resume] goes on in one; both run the same loop (loop.go) until the planned steps are done or a
// signal comes, and then save. What belongs to results (metrics.jsonl, checkpoints) has no times in it, so that an
// interrupted run that was resumed leaves the same bytes as one that was not; times are in timing.jsonl, run.json
// and the event files.
//
//	runs/NAME/
//	  run.json        resolved configuration, command, revision, machine, how it is executed, status
//	  config.yaml     the resolved configuration, to be used again
//	  metrics.jsonl   a line per log, evaluation and end: step and values
//	  timing.jsonl    the same lines' times, rates and shares of time
//	  tensorboard/    event files
//	  checkpoints/    step-…, and the pointers latest and best
//	  lock            held while a process works on the run
//
// Not here: what learners do (package agents), the format of checkpoints (package checkpoints), comparison of what was
// trained (package eval).
package train
