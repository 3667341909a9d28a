package placement

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
)

// Cluster is what a platform knows of its cluster when a decision is due: all that the scheduler sees. Times are in
// seconds since any moment, the same for all. Functions, workflows, steps and nodes are given by their numbers, in the
// order of [Observer.Functions], [Observer.Workflows], a workflow's steps, and the configuration's nodes.
type Cluster struct {
	// Now is the time.
	Now float64 `json:"now" unit:"s"`
	// Nodes has an entry for each node.
	Nodes []NodeMeters `json:"nodes"`
	// Functions has an entry for each function.
	Functions []FunctionMeters `json:"functions"`
	// Requests are those in the system.
	Requests []Request `json:"requests"`
	// Waiting are the invocations that could start, the first to wait first. The policy sees the first window of them.
	Waiting []Waiting `json:"waiting"`
	// Running are the invocations that run, the first to be started first.
	Running []Running `json:"running"`
	// Warm are the instances that are warm and idle.
	Warm []Warm `json:"warm"`
}

// NodeMeters is what a platform measures of one node.
type NodeMeters struct {
	// Recent is the share of the node's CPU in use, averaged over about 10 s.
	Recent float64 `json:"recent" unit:"share of the CPU, 0 to 1"`
	// Others is what is held by others than the invocations and instances of the cluster.
	Others Resources `json:"others,omitzero"`
}

// Resources is an amount of each resource.
type Resources struct {
	// CPU is in millicores, Memory in MB, Network in Mbit/s, GPU in slices.
	CPU     int `json:"cpu" unit:"millicores"`
	Memory  int `json:"memory" unit:"MB"`
	Network int `json:"network" unit:"Mbit/s"`
	GPU     int `json:"gpu" unit:"slices"`
}

// FunctionMeters is what a platform measures of one function.
type FunctionMeters struct {
	// Last is when an invocation of it last began to wait; negative where none ever has.
	Last float64 `json:"last" unit:"s; negative: never"`
	// ColdShare is the share of cold starts among its last starts: a moving mean in which a new start weighs 0.2.
	ColdShare float64 `json:"cold_share" unit:"share of the starts, 0 to 1"`
}

// Request is a run of a workflow that has not ended.
type Request struct {
	// Workflow and Priority are numbers in the configuration.
	Workflow int `json:"workflow" unit:"number of the workflow"`
	Priority int `json:"priority" unit:"number of the priority"`
	// Size is that of its input, as the configuration has it.
	Size float64 `json:"size" unit:"as the configuration has it"`
	// Arrived is when it came, Deadline when it should have ended.
	Arrived  float64 `json:"arrived" unit:"s"`
	Deadline float64 `json:"deadline" unit:"s"`
	// Done are the steps that have ended, the first to end first.
	Done []Done `json:"done,omitempty"`
}

// Done is a step that has ended.
type Done struct {
	Step int `json:"step" unit:"number of the step"`
	// Node is where its output lies; −1 where it is not on a node.
	Node int `json:"node" unit:"number of the node; -1: none"`
}

// Waiting is an invocation whose predecessors are done.
type Waiting struct {
	// Request is its place among the requests, Step its place in the workflow.
	Request int `json:"request" unit:"place in requests"`
	Step    int `json:"step" unit:"number of the step"`
	// Since is when it began to wait.
	Since float64 `json:"since" unit:"s"`
}

// Running is an invocation that has been started.
type Running struct {
	Waiting
	// Node is where it runs, Amount the place of its amount among the configuration's.
	Node   int `json:"node" unit:"number of the node"`
	Amount int `json:"amount" unit:"number of the amount"`
	// Expected is when it is expected to end.
	Expected float64 `json:"expected" unit:"s"`
}

// Warm is instances of a function on a node that are warm and idle.
type Warm struct {
	Function  int `json:"function" unit:"number of the function"`
	Node      int `json:"node" unit:"number of the node"`
	Instances int `json:"instances" unit:"instances"`
}

// ParseCluster reads a cluster from JSON. [Observer.Observe] checks what it says.
func ParseCluster(data []byte) (*Cluster, error) {
	c := &Cluster{}
	if err := envs.ParseMeasured(data, c); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	return c, nil
}

// Cluster writes what a platform would know where the environment is now; the lists of c are used again, so that after
// the first times it does not allocate.
func (e *Env) Cluster(c *Cluster) {
	*c = Cluster{
		Now: seconds(e.now), Nodes: c.Nodes[:0], Functions: c.Functions[:0], Requests: c.Requests[:0], Waiting: c.Waiting[:0],
		Running: c.Running[:0], Warm: c.Warm[:0],
	}
	for n := range e.nodes {
		c.Nodes = append(c.Nodes, NodeMeters{Recent: e.nodes[n].recent})
	}
	for f := range e.functions {
		l := &e.functions[f]
		m := FunctionMeters{Last: seconds(l.since), ColdShare: l.cold}
		if l.since < 0 {
			m.Last = -1
		}
		c.Functions = append(c.Functions, m)
		for n := range e.nodes {
			if k := e.pair(int32(f), int32(n)).idle; k > 0 {
				c.Warm = append(c.Warm, Warm{f, n, int(k)})
			}
		}
	}
	e.places = resize(e.places, len(e.requests))
	for i := range e.requests {
		e.places[i] = len(c.Requests)
		if e.requests[i].left > 0 {
			c.Requests = e.appendRequest(c.Requests, int32(i))
		}
	}
	for _, list := range [...][]int32{e.window, e.backlog[e.head:]} {
		for _, i := range list {
			c.Waiting = append(c.Waiting, e.queued(i))
		}
	}
	for _, i := range e.active {
		v := &e.invocations[i]
		c.Running = append(c.Running, Running{e.queued(i), int(v.node), int(v.amount), seconds(v.expected)})
	}
}

// queued is an invocation among the requests of a cluster.
func (e *Env) queued(i int32) Waiting {
	v := &e.invocations[i]
	return Waiting{e.places[v.request], int(v.step), seconds(v.since)}
}

// appendRequest appends request i, with its steps that have ended, in the order of their ends. It uses the list of steps
// of an earlier request at that place again.
func (e *Env) appendRequest(to []Request, i int32) []Request {
	var done []Done
	if n := len(to); n < cap(to) {
		done = to[: n+1 : n+1][n].Done[:0]
	}
	q := &e.requests[i]
	at := func(d Done) int64 { return e.invocations[int(i)*e.s.steps+d.Step].finish }
	for j := range e.s.workflows[q.workflow].steps {
		if v := &e.invocations[int(i)*e.s.steps+j]; v.node >= 0 && v.finish <= e.now {
			done = append(done, Done{j, int(v.node)})
			for k := len(done) - 1; k > 0 && at(done[k-1]) > at(done[k]); k-- {
				done[k-1], done[k] = done[k], done[k-1]
			}
		}
	}
	return append(to, Request{
		Workflow: int(q.workflow), Priority: int(q.priority), Size: q.size, Arrived: seconds(q.arrived),
		Deadline: seconds(q.deadline), Done: done,
	})
}

// index checks a number of something of which there are n.
func index(key string, x, n int) error {
	if x >= 0 && x < n {
		return nil
	}
	return bounds.Errorf(key, "is %d, want 0 to %d", x, n-1)
}

// mostTime is the greatest time in seconds: whole microseconds up to it are exact.
const mostTime = 9e9

// instant converts a time in seconds to microseconds; negative times, before the beginning, keep their sign.
func instant(seconds float64) int64 { return int64(math.Round(seconds * 1e6)) }
