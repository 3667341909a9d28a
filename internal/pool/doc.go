// Package pool runs the parts of a job on a few threads, for jobs of tens of microseconds, such as a stage of an
// update or a step of some environments: too short for goroutines that are started each time. It also chooses how
// many threads to use ([Pace]) and cuts work into shards ([Shard]).
//
// Nothing here changes a result: parts may run in any order on any thread, so a job's parts must not depend on
// each other.
package pool
