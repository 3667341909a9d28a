package workflow

// Workflow is a checked graph with its nodes and functions numbered. It does not change once made, and may be
// used from several goroutines. Slices it returns are its own: read them, do not write.
type Workflow struct {
	graph     Graph
	functions []string
	function  []int // function of each node
	entry     int
}

// Delays are what the platform adds between functions, in seconds: per node run and per edge taken.
type Delays struct{ Node, Edge float64 }

// Path is a way through the workflow from entry to end.
type Path struct {
	// Nodes in the order of the path.
	Nodes []int
	// Probability that a request takes it, as far as its branches decide.
	Probability float64
}

// Compile checks the graph and numbers it: nodes and functions in the order of its lists. An error names the
// node or edge that is wrong and what would be right.
func (g Graph) Compile() (*Workflow, error) { return nil, nil }

// Validate reports what [Graph.Compile] would refuse.
func (g Graph) Validate() error { _, err := g.Compile(); return err }

// Name returns the graph's name.
func (w *Workflow) Name() string { return w.graph.Name }

// Graph returns the graph as it was written.
func (w *Workflow) Graph() Graph { return w.graph }

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

// Order returns the nodes such that each comes after those that lead to it (loops aside) and those that call it.
func (w *Workflow) Order() []int { return nil }

// Depth returns per node how many nodes come before it on the longest way from the entry, loops aside.
func (w *Workflow) Depth() []int { return nil }

// Executions returns per node how often a request is expected to run it.
func (w *Workflow) Executions() []float64 { return nil }

// FunctionExecutions returns per function how often a request is expected to run it.
func (w *Workflow) FunctionExecutions() []float64 { return nil }

// Neighbours returns per function the functions it is joined to by an edge in either direction, ascending,
// without itself: the caller-or-callee relation of FaaSConf's attention.
func (w *Workflow) Neighbours() [][]int { return nil }

// Response returns the expected response time in seconds of a request that meets no queue, given each node's own
// time in seconds: the longest of parallel paths, the expectation over branches, a loop's section multiplied by
// its expected runs, calls added (one by one) or their longest (together).
func (w *Workflow) Response(times []float64, d Delays) float64 { return 0 }

// CriticalPath appends to dst the nodes of the longest way through the workflow, in order, and returns it with its
// length in seconds. Times count as in [Workflow.Response]; of a branch the longest arm counts, whatever its probability.
func (w *Workflow) CriticalPath(dst []int, times []float64, d Delays) ([]int, float64) { return dst, 0 }

// Paths returns all ways from entry to end, loops aside and calls left out, the likeliest first. It fails where there are
// more than limit.
func (w *Workflow) Paths(limit int) ([]Path, error) { return nil, nil }
