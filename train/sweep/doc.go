// Package sweep trains one configuration with many values of its keys: a grid, random draws, or both, with one or
// several seeds for each.
//
// A [Plan] says what is asked for. [Plan.Arms] checks it against the configuration's schema and gives the arms: one per
// combination of values, with a run per seed. [Prepare] opens the sweep's folder, and [Sweep.Run] carries out what is
// not finished there, several runs at a time, by package train. What a sweep leaves does not depend on how many runs are
// trained at a time, nor on where it was interrupted.
//
//	runs/SWEEP/
//	  sweep.json    the plan, the arms, and the status of each run
//	  ARM-sSEED/    a run folder, as stoker train makes it
//	  lock          held while a process works on the sweep
//
// Arms come from a list that is made before anything runs. A search that stops bad arms early would work on the same
// arms and statuses.
//
// Not here: the ranking of the arms and its figures (package eval/leaderboard).
package sweep
