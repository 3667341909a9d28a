package workflow

// Kind says when an edge is taken.
type Kind string

const (
	// Next is taken whenever its node returns. Several from one node are a fork: all are taken, in parallel.
	Next Kind = "next"
	// Branch is one of a node's alternatives: exactly one of the branch and loop edges of a node is taken.
	Branch Kind = "branch"
	// Loop leads back to an earlier node, or to the node itself: what lies in between runs again. Its probability counts
	// among the node's alternatives. Loops may overlap.
	Loop Kind = "loop"
	// Call is a synchronous call: the callee runs after the caller's own work, and the caller returns (and frees
	// its slot on its instance) only after all its callees have returned.
	Call Kind = "call"
)

// CallMode says how a node makes its calls.
type CallMode string

const (
	// OneByOne makes the calls in the order of the edges, each after the previous one has returned.
	OneByOne CallMode = "one-by-one"
	// Together makes all calls at the same time and waits for all of them.
	Together CallMode = "together"
)

// End is the target of an edge that ends the workflow. A path ends anyway at a node without next and branch edges; End
// is needed where ending is one of several alternatives.
const End = "end"

// Graph is the description of a workflow. Its zero value is not valid: it has no entry.
type Graph struct {
	// Name is the workflow's name in reports.
	Name string `yaml:"name" json:"name"`
	// Entry is the node at which every request starts. Empty means the only node without an incoming edge.
	Entry string `yaml:"entry,omitempty" json:"entry,omitempty"`
	// Functions lists the functions in the order of the agents, observations and actions. Empty means the order in which
	// the nodes name them.
	Functions []string `yaml:"functions,omitempty" json:"functions,omitempty"`
	// Nodes are the places where a function runs. A function may run at several nodes.
	Nodes []Node `yaml:"nodes" json:"nodes"`
	// Edges connect the nodes.
	Edges []Edge `yaml:"edges" json:"edges"`
}

// Node is a place in a workflow where a function runs.
type Node struct {
	// Name identifies the node within its graph. It is not empty and not "end".
	Name string `yaml:"name" json:"name"`
	// Function is the function that runs here. Empty means the function with the node's name.
	Function string `yaml:"function,omitempty" json:"function,omitempty"`
	// Join asserts that parallel paths meet here; a graph in which none do is refused. Every node, with Join or without,
	// waits for all paths that can still reach it.
	Join bool `yaml:"join,omitempty" json:"join,omitempty"`
	// Calls says how the node makes its calls. Empty means one by one.
	Calls CallMode `yaml:"calls,omitempty" json:"calls,omitempty"`
}

// Edge leads from one node to the next.
type Edge struct {
	// From is the node the edge leaves.
	From string `yaml:"from" json:"from"`
	// To is the node the edge enters, or "end".
	To string `yaml:"to" json:"to"`
	// Kind says when the edge is taken. Empty means branch where there is a probability, else next.
	Kind Kind `yaml:"kind,omitempty" json:"kind,omitempty"`
	// Probability of a branch or loop edge, in (0, 1]. The probabilities of one node's edges sum to 1. Next and call edges
	// have none (0 or 1).
	Probability float64 `yaml:"probability,omitempty" json:"probability,omitempty"`
}

// Arm is one alternative of a [Choice].
type Arm struct {
	To          string
	Probability float64
}

// To returns the arm that leads to a node, or to [End], with a probability.
func To(node string, probability float64) Arm { return Arm{node, probability} }

// Chain returns the edges of a sequence.
func Chain(nodes ...string) []Edge {
	var es []Edge
	for i := 1; i < len(nodes); i++ {
		es = append(es, Edge{From: nodes[i-1], To: nodes[i], Kind: Next})
	}
	return es
}

// Fork returns the edges from a node to several that run in parallel.
func Fork(from string, to ...string) []Edge {
	es := make([]Edge, 0, len(to))
	for _, t := range to {
		es = append(es, Edge{From: from, To: t, Kind: Next})
	}
	return es
}

// Join returns the edges from several nodes to the node at which they meet.
func Join(to string, from ...string) []Edge {
	es := make([]Edge, 0, len(from))
	for _, f := range from {
		es = append(es, Edge{From: f, To: to, Kind: Next})
	}
	return es
}

// Choice returns the branch edges of a node, one for each arm.
func Choice(from string, arms ...Arm) []Edge {
	es := make([]Edge, 0, len(arms))
	for _, a := range arms {
		es = append(es, Edge{From: from, To: a.To, Kind: Branch, Probability: a.Probability})
	}
	return es
}

// Repeat returns the edge that leads back from a node to one before it, or to itself, with a probability.
func Repeat(from, to string, probability float64) []Edge {
	return []Edge{{From: from, To: to, Kind: Loop, Probability: probability}}
}

// Calls returns the edges of a node's synchronous calls, in order.
func Calls(caller string, callees ...string) []Edge {
	es := make([]Edge, 0, len(callees))
	for _, c := range callees {
		es = append(es, Edge{From: caller, To: c, Kind: Call})
	}
	return es
}

// New returns a graph of the given edges. Its nodes are those that the edges name, in that order; each runs the
// function of its name, and the first is the entry. Set the graph's fields to change this.
func New(name string, parts ...[]Edge) Graph {
	g := Graph{Name: name}
	seen := map[string]bool{End: true, "": true}
	add := func(n string) {
		if !seen[n] {
			seen[n] = true
			g.Nodes = append(g.Nodes, Node{Name: n})
		}
	}
	for _, es := range parts {
		for _, e := range es {
			add(e.From)
			add(e.To)
			g.Edges = append(g.Edges, e)
		}
	}
	if len(g.Nodes) > 0 {
		g.Entry = g.Nodes[0].Name
	}
	return g
}

// FaaSConfSequential is FaaSConf's Sequential workflow: five machine-learning functions in sequence.
func FaaSConfSequential() Graph {
	return New("sequential", Chain("starter", "load", "resize", "update", "resnet"))
}

// FaaSConfParallel is FaaSConf's Parallel workflow: four functions in sequence, then two classifiers in parallel.
func FaaSConfParallel() Graph {
	return New("parallel", Chain("starter", "rgb", "resize", "update"), Fork("update", "resnet", "mobilenet"))
}

// FaaSConfBranch is FaaSConf's Branch workflow: of five requests two run rgb and mobilenet, three run load and resnet
// (the mix of its load generator).
func FaaSConfBranch() Graph {
	return New("branch", Choice("starter", To("rgb", 0.4), To("load", 0.6)),
		Chain("rgb", "resize", "update", "mobilenet"), Chain("load", "resnet"))
}

// FaaSConfTcktApp is FaaSConf's TcktApp: the twelve functions behind train-ticket's ticket search, listed in the order
// of its code. The published adjacency is symmetric and leaves these points open, which we chose:
//
//   - which function calls which, inferred from their names;
//   - the order of the calls;
//   - mode: calls one by one, since the application's Java services block on each call, or together, for comparison;
//   - a function with several callers runs at a separate node for each of them, named caller/callee.
func FaaSConfTcktApp(mode CallMode) Graph {
	const (
		left     = "get-left-trip-tickets"
		interval = "get-left-ticket-of-interval"
		price    = "get-price-by-routeid-and-traintype"
		route    = "get-route-by-routeid"
		tripped  = "get-route-by-tripid"
		sold     = "get-sold-tickets"
		kind     = "get-traintype-by-traintypeid"
		kindOf   = "get-traintype-by-tripid"
		orders   = "query-already-sold-orders"
		config   = "query-config-entity-by-config-name"
		station  = "query-for-station-id-by-station-name"
		travel   = "query-for-travel"
	)
	g := Graph{
		Name: "tcktapp", Entry: left,
		Functions: []string{left, interval, price, route, tripped, sold, kind, kindOf, orders, config, station, travel},
	}
	var add func(caller, function string)
	calls := map[string][]string{
		left:     {station, route, kind, orders, travel, interval},
		travel:   {station, route, kind, price},
		interval: {tripped, kindOf, sold, config},
		tripped:  {route},
		kindOf:   {kind},
	}
	add = func(caller, function string) {
		name := function
		if caller != "" {
			name = caller + "/" + function
			g.Edges = append(g.Edges, Edge{From: caller, To: name, Kind: Call})
		}
		g.Nodes = append(g.Nodes, Node{Name: name, Function: function, Calls: mode})
		for _, callee := range calls[function] {
			add(name, callee)
		}
	}
	add("", left)
	return g
}
