// Package envs is the contract between worlds and those who act in them.
//
// The words and their meaning are Gymnasium's, and for several agents PettingZoo's parallel API: [Env.Reset] with a
// seed and options, [Env.Step], observation, reward, terminated and truncated kept apart, info, and spaces that know
// their bounds. Three things differ, because a step here may not allocate and a run must resume bit for bit:
//
//   - Observations, actions and outcomes are written into buffers that the caller owns ([NewObservation],
//     [NewAction], [NewOutcome]). Agents with the same spaces form a [Kind] and share one float32 array.
//   - [Env.CopyFrom] copies a whole environment in memory, and AppendBinary/UnmarshalBinary put the same state on disk.
//     An environment that lists its state (package state) gets all three: see [CopyState].
//   - A step says how long it took ([Outcome.Elapsed]), since slots, windows and workflow steps differ.
//
// A draw of the world is a hash of its purpose (package rng). The order of service consumes no draws, so two policies
// with one seed face the same world.
//
// What an agent may do is in its masks. Where a choice depends on the choices before it, [Kind].MaskAfter says what is
// left, as a function of what is seen: a policy needs the spec and the observation, never the environment. What it reads
// may be a table of integers, [KindObservation].Legal, so that legality is computed once, by the environment.
// [ActionSampler] draws legal actions by both. Where a choice is one of the nodes of a graph that is seen,
// [Kind].Points says of which kind.
//
// A [Policy] maps observations to actions; a [Tuner] proposes an action and observes its outcome; a [Planner] tries
// actions on copies of the environment. [Vector] steps many copies of an environment together. Wrappers ([TimeLimit],
// [Flatten]) are environments around another one; [As] looks through them.
//
// Not here: the environments themselves (folders below this one), the table of them (catalog), learning (agents), and
// normalisation over all copies of a vector (agents/normalise).
package envs
