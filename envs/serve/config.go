package serve

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng"
)

// Config describes a walk.
type Config struct {
	Flow *workflow.Workflow
	// Platform has one function for each of the workflow's, in its order.
	Platform sim.Config
	// Source is the load. With nil the environment begins each request itself, by [Walk.Request].
	Source *workload.Source
	// Delay is the time that a request spends before its first node; Hop the time to pass a task to its function.
	Delay, Hop sim.Time
	// Abort ends a request at its first failure. Otherwise it goes on with a spoilt input, and has failed at its end.
	Abort bool
	// Ignored are the functions whose result nobody uses, so that their failure fails no request; nil for none.
	Ignored []bool
	Hooks   Hooks
}

// Hooks are called inside the simulator's loop. All but Work may be nil. What pointers point to holds during the call.
type Hooks struct {
	// Work returns the work of a task: the seconds that it takes alone in an instance of speed 1. Number names the draws
	// that the platform makes for it, such as which instance is picked.
	Work func(*Visit) (seconds float64, number uint64)
	// Tasks returns into how many tasks a visit fans out, 1 to [MaxTasks], and how many of them run together at most; 0
	// is all. It is not asked about nodes that call others: they have one.
	Tasks func(*Visit) (tasks, together int)
	// Places is the number of requests that the instances of a function hold. It is asked about functions that call
	// others, which keep a place until the calls have returned. Call [Walk.OpenGate] where it rises. Without it these
	// have no gate: only their own work takes a place.
	Places func(function int) int
	// Began is told of each request that begins.
	Began func(Request)
	// Ran is told of the end of each task, also of requests that have ended before.
	Ran func(*Run)
	// Returned is told of the end of each visit of a function with a gate: the time from its arrival to the return of its
	// calls.
	Returned func(function int, took sim.Time)
	// Ended is told of the end of each request.
	Ended func(Request)
	// Drew is told of draws of the load: purpose, three numbers that identify the draw, its value.
	Drew func(purpose string, a, b, c uint64, value float64)
}

// Visit is a run of a node within a request.
type Visit struct {
	// A and B name the request among all: an arrival's stream and number, or a user and that user's request.
	A, B uint64
	// Run is the request's [Request.Run].
	Run int32
	// Node is the workflow's node, Function its function; Number counts the node's runs in this request from 0.
	Node, Function, Number int32
	// Task counts the tasks of the visit from 0.
	Task int32
	// Spoilt says that an earlier visit of the request has failed.
	Spoilt bool
}

// Key is the key of one of the task's draws; under names its purpose. A [Namer] makes the same keys with less work.
func (v *Visit) Key(under rng.Key) rng.Key { return v.within(under.With(v.A).With(v.B)) }

// within is the key of one of the task's draws below that of its request.
func (v *Visit) within(request rng.Key) rng.Key {
	k := request.With(uint64(v.Node)).With(uint64(v.Number))
	if v.Task > 0 {
		k = k.With(uint64(v.Task))
	}
	return k
}

// Request is a request as hooks are told of it.
type Request struct {
	A, B uint64 // as in [Visit]
	// Run is the request's number among those in flight; after its end another one takes it. The first is 0.
	Run    int32
	Begun  sim.Time
	Failed bool
	// Last is the node after which the request has ended; -1 where it was aborted or has just begun.
	Last int32
	// Counted says that the request ends while the load is on ([Walk.Open]).
	Counted bool
}

// Run is a task's stay at its function, which has ended.
type Run struct {
	Function int32
	// Request is the request's [Request.Run]; -1 where it has ended before.
	Request int32
	Outcome sim.Outcome
	// Cold says that it waited for an instance's cold start.
	Cold bool
	// Started is when it last began to run, -1 if it never did.
	Arrived, Started, Ended sim.Time
}

// Limits of what fits into the tag of a simulated request, and of what a visit fans out to.
const (
	MaxNodes = 1 << nodeBits
	MaxTasks = 1 << 20
)

// Validate reports the first wrong field.
func (c *Config) Validate() error {
	switch {
	case c.Flow == nil:
		return fmt.Errorf("serve: Flow is nil, want a workflow")
	case c.Flow.NumNodes() > MaxNodes:
		return fmt.Errorf("serve: the workflow has %d nodes, want at most %d", c.Flow.NumNodes(), MaxNodes)
	case len(c.Platform.Functions) != c.Flow.NumFunctions():
		return fmt.Errorf("serve: Platform has %d functions, want the workflow's %d", len(c.Platform.Functions),
			c.Flow.NumFunctions())
	case c.Ignored != nil && len(c.Ignored) != c.Flow.NumFunctions():
		return fmt.Errorf("serve: Ignored has %d entries, want none or one for each of %d functions", len(c.Ignored),
			c.Flow.NumFunctions())
	case c.Delay < 0 || c.Hop < 0:
		return fmt.Errorf("serve: Delay is %d µs and Hop %d µs, want 0 or more", c.Delay, c.Hop)
	case c.Hooks.Work == nil:
		return fmt.Errorf("serve: Hooks.Work is nil, want the work of a task")
	}
	return nil
}
