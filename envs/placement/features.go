package placement

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
