package placement

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/reuse"
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
	e.places = reuse.Slice(e.places, len(e.requests))
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

// Example returns a cluster at rest in which a request of the first workflow has just arrived: it says which keys there
// are, and a policy can decide on it.
func (o *Observer) Example() *Cluster {
	const now, deadline = 100, 10 // seconds
	c := &Cluster{Now: now, Nodes: make([]NodeMeters, o.layout.Nodes),
		Functions: make([]FunctionMeters, o.layout.Functions),
		Requests:  []Request{{Size: 1, Arrived: now, Deadline: now + deadline, Done: []Done{}}},
		Waiting:   []Waiting{}, Running: []Running{}, Warm: []Warm{}}
	for n := range c.Nodes {
		c.Nodes[n].Recent = 0.1
	}
	for f := range c.Functions {
		c.Functions[f].Last = -1
	}
	for j, s := range o.s.workflows[0].steps {
		if len(s.after) == 0 {
			c.Waiting = append(c.Waiting, Waiting{Step: j, Since: now})
			c.Functions[s.function].Last = now
		}
	}
	return c
}

// Reading tells what a row of a part of the graph, "node.function" for example, is of in the cluster's JSON, and gives
// numbers of a feature in the platform's unit, which it names.
func (o *Observer) Reading(c *Cluster, part string, row, feature int, x ...float64) (key, unit string,
	values []float64) {
	g := o.layout.space()
	kind, name, _ := strings.Cut(part, ".")
	var features []envs.Component
	for _, n := range g.Nodes {
		if kind == "node" && n.Name == name {
			features = n.Features
		}
	}
	for _, e := range g.Edges {
		if kind == "edge" && e.Name == name {
			features = e.Features
		}
	}
	key = fmt.Sprintf("%s %d", part, row)
	if kind == "node" {
		key = o.rowKey(c, name, row)
	}
	f := features[feature]
	of := func(invert func(float64) float64) {
		for _, x := range x {
			values = append(values, invert(x))
		}
	}
	switch unit = f.Unit; unit {
	case asTime, asSigned:
		unit = "s"
		of(func(x float64) float64 { return unsquash(x, timeScale) })
	case asData:
		unit = "MB"
		of(func(x float64) float64 { return unsquash(x, dataScale) })
	case asCount:
		unit = ""
		of(func(x float64) float64 { return unsquash(x, countScale) })
	default:
		of(func(x float64) float64 { return x })
	}
	if f.Unit != asSigned {
		for i := range values {
			values[i] = max(0, values[i])
		}
	}
	return key + ": " + f.Name, unit, values
}

// rowKey is the key of a node of the graph, with the name of a function.
func (o *Observer) rowKey(c *Cluster, kind string, row int) string {
	switch {
	case kind == "function":
		return fmt.Sprintf("functions[%d] (%s)", row, o.s.functions[row].name)
	case kind == "node":
		return fmt.Sprintf("nodes[%d]", row)
	}
	list, w := "waiting", (*Waiting)(nil)
	if n := min(len(c.Waiting), o.layout.Window); row < n {
		w = &c.Waiting[row]
	} else {
		list, row = "running", row-n
		w = &c.Running[row].Waiting
	}
	step := &o.s.workflows[c.Requests[w.Request].Workflow].steps[w.Step]
	return fmt.Sprintf("%s[%d] (%s)", list, row, o.s.functions[step.function].name)
}

// unsquash is the inverse of squash and of signed, infinite beyond what they give.
func unsquash(y, scale float64) float64 {
	if math.Abs(y) >= 1 {
		return math.Copysign(math.Inf(1), y)
	}
	return scale * y / (1 - math.Abs(y))
}

// Start is what a platform does: the decision of a scheduler in the platform's units.
type Start struct {
	// Wait lets time pass: nothing starts until the cluster changes. The rest is then 0.
	Wait bool `json:"wait"`
	// Invocation is the place among the cluster's waiting ones of the one that starts, Node where.
	Invocation int `json:"invocation"`
	Node       int `json:"node"`
	// Amount is the multiple of its function's demand that it gets, Resources what that is.
	Amount    float64   `json:"amount"`
	Resources Resources `json:"resources"`
}

// Start returns what an action asks for. seen is the observation that was made of the cluster and decided on. A choice
// that is not legal, such as one beyond what a node has, is an error.
func (o *Observer) Start(c *Cluster, seen *envs.Observation, act *envs.Action) (Start, error) {
	if len(act.Kinds) != 1 || len(act.Kinds[0]) != 3 {
		return Start{}, envs.CheckAction(o.spec, nil, act)
	}
	which, amount, at, ok := o.layout.choices(act.Kinds[0])
	if !ok {
		return Start{}, envs.CheckAction(o.spec, nil, act)
	}
	k := &seen.Kinds[0]
	if which == o.layout.Wait() {
		if !k.Mask[which] {
			return Start{}, fmt.Errorf("%s: waiting is not allowed (hold: false) while something fits", ID)
		}
		return Start{Wait: true}, nil
	}
	if which >= len(c.Waiting) || which >= o.layout.Window {
		return Start{}, fmt.Errorf("%s: invocation %d is chosen, but %d wait", ID, which, min(len(c.Waiting),
			o.layout.Window))
	}
	w := &c.Waiting[which]
	f := &o.s.functions[o.s.workflows[c.Requests[w.Request].Workflow].steps[w.Step].function]
	if o.layout.Fits(k, which, at) <= amount {
		return Start{}, fmt.Errorf("%s: invocation %d of %s does not fit node %d with amount %d (%g)", ID, which, f.name, at,
			amount, o.layout.Amounts[amount])
	}
	d := &f.demand[amount]
	return Start{
		Invocation: which, Node: at, Amount: o.layout.Amounts[amount],
		Resources: Resources{int(d[CPU]), int(d[Memory]), int(d[Network]), int(d[GPU])},
	}, nil
}
