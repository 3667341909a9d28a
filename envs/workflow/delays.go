package workflow

// DelayCount says which nodes and edges the platform's delays are counted for.
type DelayCount string

const (
	// Once counts a delay for every run of a node and for every edge that is taken. Empty means once.
	Once DelayCount = "once"
	// Published counts as SLApp's code does, so that its figures come out: the start and the end of the workflow are nodes,
	// and an edge leads from the start and one to the end; a node that repeats itself has one delay more than it runs,
	// and one edge more; where a longer section repeats, its last node has one delay however often it runs, and
	// the repeats leave out the first edge, unless that leads into parallel paths.
	Published DelayCount = "published"
)

// Delays are the times in seconds that the platform adds for each run of a node and for each edge taken.
type Delays struct {
	Node  float64    `yaml:"node,omitempty" json:"node,omitempty"`
	Edge  float64    `yaml:"edge,omitempty" json:"edge,omitempty"`
	Count DelayCount `yaml:"count,omitempty" json:"count,omitempty"`
}

// StepFunctions are the delays of AWS Step Functions that SLApp's authors measured: 18.81 ms for each node, 1 ms for
// each edge.
func StepFunctions(count DelayCount) Delays { return Delays{Node: 0.01881, Edge: 0.001, Count: count} }
