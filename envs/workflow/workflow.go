package workflow

import "slices"

// Workflow is a checked graph whose nodes and functions are numbered in the order of its lists. It never changes and
// may be used by several goroutines. Callers must not write to the slices that it returns.
type Workflow struct {
	graph       Graph
	functions   []string
	function    []int // function of each node
	entry       int
	fingerprint uint64 // hash of the structure, for saved states

	next     [][]int32 // targets of next edges; exit for End
	alts     [][]alt   // branch and loop edges of each node
	calls    [][]int32 // callees in order
	on       [][]edge  // next and branch edges of each node in the graph's order, see findOnward
	mode     []CallMode
	caller   []int32   // caller of a called node, else -1
	from     [][]int32 // sources of the next and branch edges into each node
	indegree []int32   // number of next and branch edges that enter a node
	loops    []loop

	order   []int
	depth   []int
	regions []region
	inner   []region  // from forks to where their paths meet, in cyclic parts
	spans   []span    // of cyclic parts
	terms   []term    // inner regions and spans in the order in which they can be evaluated
	overlap error     // why a cyclic part is not a walk, see overlap.go
	factor  []float64 // expected runs of a node for each time that a request passes it without taking loops
	execs   []float64
	near    [][]int
	routes  routes
}

// exit is the number of [End] among the targets of edges.
const exit int32 = -1

// alt is one alternative of a node.
type alt struct {
	to   int32
	p    float64
	loop int32 // index into loops, -1 for a branch
}

// loop is an edge that leads back.
type loop struct {
	header, source int32
	p              float64
}

// Name returns the graph's name.
func (w *Workflow) Name() string { return w.graph.Name }

// Graph returns a copy of the graph, with its defaults filled in.
func (w *Workflow) Graph() Graph { return w.graph.clone() }

// NumNodes returns the number of nodes.
func (w *Workflow) NumNodes() int { return len(w.function) }

// NumFunctions returns the number of functions.
func (w *Workflow) NumFunctions() int { return len(w.functions) }

// Functions returns the functions' names, in order.
func (w *Workflow) Functions() []string { return w.functions }

// NodeName returns the name of node n.
func (w *Workflow) NodeName(n int) string { return w.graph.Nodes[n].Name }

// Function returns the number of the function that runs at node n.
func (w *Workflow) Function(n int) int { return w.function[n] }

// Entry returns the node at which requests start.
func (w *Workflow) Entry() int { return w.entry }

// Callees returns the nodes that node n calls, in order.
func (w *Workflow) Callees(n int) []int32 { return w.calls[n] }

// Order returns a topological order of the nodes: each comes after those that lead to it, without loops, and after its
// caller.
func (w *Workflow) Order() []int { return w.order }

// Depth returns per node how many nodes come before it on the longest path from the entry, without loops.
func (w *Workflow) Depth() []int { return w.depth }

// Executions returns the expected number of runs of each node in a request. See cycle.go for how they follow from the
// probabilities of branches and loops.
func (w *Workflow) Executions() []float64 { return w.execs }

// FunctionExecutions returns the expected number of runs of each function in a request.
func (w *Workflow) FunctionExecutions() []float64 {
	out := make([]float64, len(w.functions))
	for n, f := range w.function {
		out[f] += w.execs[n]
	}
	return out
}

// Neighbours returns for each function the other functions that an edge in either direction connects to it, ascending.
// FaaSConf's attention is over these neighbours.
func (w *Workflow) Neighbours() [][]int { return w.near }

// neighbours fills near from the graph's edges.
func (w *Workflow) neighbours() {
	w.near = make([][]int, len(w.functions))
	join := func(a int, b int32) {
		if b == exit {
			return
		}
		f, g := w.function[a], w.function[b]
		if f != g {
			w.near[f] = append(w.near[f], g)
			w.near[g] = append(w.near[g], f)
		}
	}
	for n := range w.function {
		for _, m := range w.next[n] {
			join(n, m)
		}
		for _, a := range w.alts[n] {
			join(n, a.to)
		}
		for _, m := range w.calls[n] {
			join(n, m)
		}
	}
	for f := range w.near {
		slices.Sort(w.near[f])
		w.near[f] = slices.Compact(w.near[f])
	}
}

// Next returns for each function those whose work comes right after its own or within it: the functions that an edge or
// a call leads to, ascending. Loops are left out, and so is an edge that leads back to a function on the way to it, so
// that no function comes after itself.
func (w *Workflow) Next() [][]int {
	out := make([][]int, len(w.functions))
	for n, f := range w.function {
		out[f] = w.leads(out[f], int32(n))
	}
	const fresh, open, done = 0, 1, 2
	state := make([]int, len(out))
	var visit func(f int)
	visit = func(f int) {
		state[f] = open
		slices.Sort(out[f])
		out[f] = slices.DeleteFunc(slices.Compact(out[f]), func(g int) bool { return g == f })
		keep := make([]int, 0, len(out[f]))
		for _, g := range out[f] {
			if state[g] == fresh {
				visit(g)
			}
			if state[g] == done {
				keep = append(keep, g)
			}
		}
		out[f], state[f] = keep, done
	}
	visit(w.function[w.entry])
	return out
}

// leads appends the functions to which a node's edges and calls lead, without loops.
func (w *Workflow) leads(dst []int, n int32) []int {
	add := func(m int32) {
		if m != exit {
			dst = append(dst, w.function[m])
		}
	}
	for _, m := range w.next[n] {
		add(m)
	}
	for _, a := range w.alts[n] {
		if a.loop < 0 {
			add(a.to)
		}
	}
	for _, m := range w.calls[n] {
		add(m)
	}
	return dst
}
