// Package farm carries units of work to workers, and their results back.
//
// A [Unit] is a value: what is computed, of which configuration, seed and inputs, by which revision and kernels. Its
// [Key] is that value's hash. Units are pure: whoever carries one out, and however often, leaves the same files. A second
// result of a unit is therefore compared with the first ([Same]), and a difference stops the study with a [Conflict]: it
// is a broken machine, or a bug.
//
// A [Farm] has two forms. [NewLocal] is one process: runs side by side, as stoker train --seeds and stoker sweep have
// them. Package farm/jetstream has the other: NATS JetStream, embedded in the coordinator, with workers in other
// processes and on other machines. [Work] is the loop of a worker of both.
//
// A unit is leased. A worker that works on it extends the lease; one that vanished does not, and the unit goes to
// another. A unit under which [MaxVanished] workers vanished is put aside. Nothing rests on a queue: it is filled from
// what the study's folder says, and may be lost.
//
// Not here: what units do (packages train and eval), and what to compute next (package train/sweep).
package farm
