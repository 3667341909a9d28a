package placement

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
)

// Kinds of nodes of the graph that is seen, as indices into envs.Graph.Nodes.
const (
	FunctionNodes = iota
	ResourceNodes
	InvocationNodes
)

// Kinds of its edges, as indices into envs.Graph.Edges.
const (
	// DependencyEdges lead from a function to one that is invoked after it.
	DependencyEdges = iota
	// AllocationEdges lead from a running invocation to its node, and from a waiting one to the nodes where its function
	// is warm or part of its input lies.
	AllocationEdges
	// TemporalEdges lead from an invocation to the next one of the same function that is seen.
	TemporalEdges
	// SharingEdges lead from a function to the nodes on which it has instances.
	SharingEdges
)

// Times t in seconds are seen as t/(t+1), signed ones as t/(|t|+1); data in MB as d/(d+10); counts n as n/(n+8). All
// are from 0 to 1, or from −1, and can be inverted. Resources are shares of the most that a node has.
const (
	timeScale  = 1
	dataScale  = 10
	countScale = 8
)

// Layout says where the numbers of an observation of [Env] stand, and reads them. The features of invocations are in
// the order of [Layout.Features].
type Layout struct {
	// Amounts are the choices of an amount, as multiples; Nominal is the index of the one that is 1.
	Amounts []float64
	Nominal int
	// Window, Running, Functions and Nodes are the capacities of the graph.
	Window, Running, Functions, Nodes int
	// Largest is the most of each resource that a node has, Fastest the largest speed: features are shares of them.
	Largest [NumResources]float64
	Fastest float64
	// Hold says that waiting is legal while something fits.
	Hold bool

	dependencies int
}

func (s *System) layout() Layout {
	l := Layout{
		Amounts: s.config.Amounts, Nominal: s.nominal, Window: s.config.Window, Running: s.config.Running,
		Functions: len(s.functions), Nodes: len(s.nodes), Hold: s.config.Hold, dependencies: len(s.dependencies()),
	}
	for r, x := range s.largest {
		l.Largest[r] = float64(x)
	}
	for _, m := range s.nodes {
		l.Fastest = max(l.Fastest, m.speed)
	}
	return l
}

// choices are the three numbers of an action; ok is false where they are outside of its space.
func (l *Layout) choices(a []float32) (which, amount, at int, ok bool) {
	which, amount, at = int(a[0]), int(a[1]), int(a[2])
	return which, amount, at, float32(which) == a[0] && float32(amount) == a[1] && float32(at) == a[2] && // not for NaN
		uint(which) <= uint(l.Wait()) && uint(amount) < uint(len(l.Amounts)) && uint(at) < uint(l.Nodes)
}

// Wait is the choice of the first component that lets time pass.
func (l *Layout) Wait() int { return l.Window + l.Running }

func (l *Layout) words() int { return (l.Nodes + 63) / 64 }

// Features of invocations. Those up to cold are those of the function; those up to input do not change while the
// invocation waits.
func (l *Layout) demand(r, a int) int { return 1 + r*len(l.Amounts) + a }
func (l *Layout) cold() int           { return 1 + NumResources*len(l.Amounts) }
func (l *Layout) time(a int) int      { return l.cold() + 1 + a }
func (l *Layout) rest() int           { return l.time(len(l.Amounts)) }

// Features of invocations, as offsets from rest.
const (
	ofSize = iota
	ofWork
	ofPath
	ofPriority
	ofInput
	ofWaited
	ofSlack
	ofAge
	ofHeld
	ofRemaining
	ofStage
	ofLeft
	ofWarm
	ofRuns
	ofAmount
	lastOfInvocation
)

// prefix is the number of features that belong to the function, still the number of those after it that do not change
// while an invocation waits.
func (l *Layout) prefix() int { return l.cold() + 1 }
func (l *Layout) still() int  { return len(l.Amounts) + ofInput + 1 }
func (l *Layout) width() int  { return l.rest() + lastOfInvocation }

// Features of nodes. Before ofFree stand the capacities of all resources; at ofFree, what is free of each.
const (
	ofFree      = NumResources
	ofIdle      = 2 * NumResources
	ofSpeed     = ofIdle + 1
	ofPrice     = ofIdle + 2
	ofRunning   = ofIdle + 3
	ofNext      = ofIdle + 4
	ofRecent    = ofIdle + 5
	widthOfNode = ofIdle + 6
)

// Features of functions. First stand the demands at amount 1.
const (
	ofMeanWork      = NumResources
	ofParallel      = NumResources + 1
	ofCold          = NumResources + 2
	ofWaiting       = NumResources + 3
	ofBacklog       = NumResources + 4
	ofActive        = NumResources + 5
	ofReady         = NumResources + 6
	ofSince         = NumResources + 7
	ofColdShare     = NumResources + 8
	widthOfFunction = NumResources + 9
)

// Features of edges.
const (
	ofFrequency       = 0
	ofData            = 1
	widthOfDependency = 2

	ofGranted         = 0
	ofShares          = 1
	ofRemains         = 1 + NumResources
	ofWarmHere        = 2 + NumResources
	ofLocal           = 3 + NumResources
	widthOfAllocation = 4 + NumResources

	widthOfTemporal = 1

	ofIdleHere     = 0
	ofActiveHere   = 1
	ofMemory       = 2
	widthOfSharing = 3
)

// squash maps [0, ∞) to [0, 1); stretch is its inverse.
func squash(x, scale float64) float32 { return float32(x / (x + scale)) }

func stretch(y float32, scale float64) float64 { return scale * float64(y) / (1 - float64(y)) }

// signed is squash for numbers that may be negative.
func signed(x float64) float32 {
	if x < 0 {
		return -squash(-x, timeScale)
	}
	return squash(x, timeScale)
}

// Invocations is the number of invocations of a graph. Those that wait come first.
func (l *Layout) Invocations(g *envs.GraphValue) int { return g.Nodes[InvocationNodes].Len }

// Waiting is the number of invocations that wait and are seen, in the order in which they began to wait.
func (l *Layout) Waiting(g *envs.GraphValue) int {
	n := 0
	for n < g.Nodes[InvocationNodes].Len && g.Nodes[InvocationNodes].Features[n*l.width()] == 1 {
		n++
	}
	return n
}

// Invocation is the features of an invocation.
func (l *Layout) Invocation(g *envs.GraphValue, i int) []float32 {
	w := l.width()
	return g.Nodes[InvocationNodes].Features[i*w : (i+1)*w]
}

// Node is the features of a node.
func (l *Layout) Node(g *envs.GraphValue, n int) []float32 {
	return g.Nodes[ResourceNodes].Features[n*widthOfNode : (n+1)*widthOfNode]
}

// Demand is what an invocation takes of a resource with an amount, as a share of the most that a node has. Free,
// WarmMemory and Capacity are such shares too.
func (l *Layout) Demand(invocation []float32, r, amount int) float32 {
	return invocation[l.demand(r, amount)]
}

// Free is what is free of a resource on a node, memory of warm instances not included.
func (l *Layout) Free(node []float32, r int) float32 { return node[ofFree+r] }

// WarmMemory is the memory of a node's idle instances, which a cold start can take.
func (l *Layout) WarmMemory(node []float32) float32 { return node[ofIdle] }

// Capacity is all that a node has of a resource.
func (l *Layout) Capacity(node []float32, r int) float32 { return node[r] }

// Speed is that of a node, as a share of the largest.
func (l *Layout) Speed(node []float32) float32 { return node[ofSpeed] }

// Price is that of a node, as a share of the largest.
func (l *Layout) Price(node []float32) float32 { return node[ofPrice] }

// Time is the expected seconds of an invocation with an amount on a node of speed 1, started warm and with its input
// there.
func (l *Layout) Time(invocation []float32, amount int) float64 {
	return stretch(invocation[l.time(amount)], timeScale)
}

// Work is Time at amount 1.
func (l *Layout) Work(invocation []float32) float64 {
	return stretch(invocation[l.rest()+ofWork], timeScale)
}

// Path is the seconds of the longest path from an invocation's start to its request's end, at amount 1 and speed 1.
func (l *Layout) Path(invocation []float32) float64 {
	return stretch(invocation[l.rest()+ofPath], timeScale)
}

// Slack is the seconds left to the deadline of an invocation's request.
func (l *Layout) Slack(invocation []float32) float64 {
	x := invocation[l.rest()+ofSlack]
	if x < 0 {
		return -stretch(-x, timeScale)
	}
	return stretch(x, timeScale)
}

// Held is the largest share of any of the cluster's resources that an invocation's request holds.
func (l *Layout) Held(invocation []float32) float32 { return invocation[l.rest()+ofHeld] }

// Remaining is the work of an invocation's request that is not done: seconds at amount 1 times demands, as shares of
// the most that a node has, summed over resources.
func (l *Layout) Remaining(invocation []float32) float64 {
	return stretch(invocation[l.rest()+ofRemaining], timeScale)
}

// Stage is the done share of the invocations of the same level of the request.
func (l *Layout) Stage(invocation []float32) float32 { return invocation[l.rest()+ofStage] }

// Input is the MB that an invocation takes from its predecessors.
func (l *Layout) Input(invocation []float32) float64 {
	return stretch(invocation[l.rest()+ofInput], dataScale)
}

// Fits reads the legality table: how many of the amounts, from the smallest on, node n has room for with the waiting
// invocation i; 0 where it has room for none. The environment computes the table from whole resources.
func (l *Layout) Fits(o *envs.KindObservation, i, n int) int { return int(o.Legal[i*l.Nodes+n]) }

// Near writes for every node whether the function of waiting invocation i is warm there, and the share of its input
// that lies there. Call it for invocations in ascending order: from is 0 for the first, then what the call before
// returned.
func (l *Layout) Near(g *envs.GraphValue, from, i int, warm []bool, local []float32) int {
	clear(warm)
	clear(local)
	s := &g.Edges[AllocationEdges]
	lo, hi := l.edges(s, from, i)
	for e := lo; e < hi; e++ {
		row := s.Features[e*widthOfAllocation : (e+1)*widthOfAllocation]
		warm[s.To[e]], local[s.To[e]] = row[ofWarmHere] == 1, row[ofLocal]
	}
	return hi
}

// edges is where the allocation edges of waiting invocation i begin and end, searched from an edge on. The edges of
// running invocations come first, then those of waiting ones in order.
func (l *Layout) edges(s *envs.EdgeSet, from, i int) (lo, hi int) {
	lo = from
	for lo < s.Len && (int(s.From[lo]) < i || s.Features[lo*widthOfAllocation+ofGranted] == 1) {
		lo++
	}
	hi = lo
	for hi < s.Len && int(s.From[hi]) == i {
		hi++
	}
	return lo, hi
}

// Runs is the expected seconds of an invocation on a node with an amount: a cold start where its function is not warm,
// fetching the share of its input that lies elsewhere, and its work.
func (l *Layout) Runs(invocation, node []float32, amount int, warm bool, local float32) float64 {
	t := l.Time(invocation, amount) / float64(float64(node[ofSpeed])*l.Fastest)
	if !warm {
		t += stretch(invocation[l.cold()], timeScale)
	}
	if remote := 1 - float64(local); remote > 0 && invocation[l.rest()+ofInput] > 0 {
		t += 8 * remote * l.Input(invocation) / float64(float64(invocation[l.demand(Network, amount)])*l.Largest[Network])
	}
	return t
}

// unused are entries of a table, of which most are 0.
var unused [64]int8

// MaskAfter is the [envs.Kind]'s. It reads the legality table, and refuses one that lets an invocation be started that
// does not wait: rules, which read the features, would not start it where they must start one.
func (l *Layout) MaskAfter(obs *envs.KindObservation, agent int, partial []float32, mask []bool) error {
	table := obs.Legal[agent*l.Window*l.Nodes : (agent+1)*l.Window*l.Nodes]
	clear(mask)
	if len(partial) == 0 {
		some, waiting := false, l.Waiting(obs.Graphs[agent])
		if waiting > l.Window {
			return fmt.Errorf("%s: node.invocation: waiting is 1 for the first %d, want at most %d", ID, waiting, l.Window)
		}
		used := len(table)
		for used >= len(unused) && *(*[len(unused)]int8)(table[used-len(unused):]) == unused {
			used -= len(unused)
		}
		for i := range (used + l.Nodes - 1) / l.Nodes {
			mask[i] = slices.Max(table[i*l.Nodes:(i+1)*l.Nodes]) > 0
			if mask[i] && i >= waiting {
				return fmt.Errorf("%s: node.invocation: waiting is 1 for the first %d, want it for the first %d at least: the "+
					"legality table lets number %d be started", ID, waiting, i+1, i)
			}
			some = some || mask[i]
		}
		mask[l.Wait()] = l.Hold || !some
		return nil
	}
	i := int(partial[0])
	if i == l.Wait() {
		mask[0] = true
		return nil
	}
	if i < 0 || i >= l.Window {
		return fmt.Errorf("%s: invocation %g cannot be started: of those that are seen the first %d may be", ID, partial[0],
			l.Window)
	}
	fits := table[i*l.Nodes : (i+1)*l.Nodes]
	if len(partial) == 1 {
		most := int(slices.Max(fits))
		if most > len(mask) {
			return fmt.Errorf("%s: the legality table says that %d amounts of invocation %d fit a node, there are %d", ID, most,
				i, len(mask))
		}
		for a := range most {
			mask[a] = true
		}
	} else {
		for n, count := range fits {
			mask[n] = partial[1] >= 0 && int(count) > int(partial[1])
		}
	}
	if !slices.Contains(mask, true) {
		return fmt.Errorf("%s: no choice is legal after %v: invocation %d does not wait, or fits none of %d nodes", ID,
			partial, i, l.Nodes)
	}
	return nil
}
