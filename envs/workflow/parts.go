package workflow

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/rng"
)

// PartKind says how the time of a [Part] follows from those of its parts.
type PartKind int

const (
	// Single is one node. Its time is Runs times the node's.
	Single PartKind = iota
	// Series adds its parts up.
	Series
	// Parallel waits for the longest of its parts.
	Parallel
	// Other is any other part: edges that cross, or a branch below a fork. Its time is the expected longest path, over
	// Ways.
	Other
)

// String returns the kind's name.
func (k PartKind) String() string { return [...]string{"single", "series", "parallel", "crossing"}[k] }

// Part is a term of a workflow's response time. Branches and loops have no kinds of their own: a part that a request
// runs with probability p, or x times in expectation, has its Runs and Delay multiplied by p or x, because the expected
// time of a branch is the mixture of its arms' and that of a loop a multiple of its section's.
type Part struct {
	Kind PartKind
	// Node is the node of a Single.
	Node int
	// Runs is how many runs of a Single's node count, in expectation.
	Runs float64
	// Delay in seconds is added: the platform's delays of the part's nodes and edges.
	Delay float64
	// Parts are what a Series adds, a Parallel waits for, or the nodes of an Other's ways.
	Parts []Part
	// Ways are the combinations of branches of an Other.
	Ways []PartWay
}

// PartWay is a combination of branches in an Other part.
type PartWay struct {
	Probability float64
	// Links lead from one part to the next, as indices into the Other's Parts, in topological order of their sources.
	// Start and Finish of the way are -1 and len(Parts).
	Links [][2]int
}

// Seconds returns the part's time for given node times in seconds.
func (p *Part) Seconds(times []float64) float64 {
	t := p.Delay
	switch p.Kind {
	case Single:
		t += float64(p.Runs * times[p.Node])
	case Series:
		for i := range p.Parts {
			t += p.Parts[i].Seconds(times)
		}
	case Parallel:
		var longest float64
		for i := range p.Parts {
			longest = max(longest, p.Parts[i].Seconds(times))
		}
		t += longest
	case Other:
		own := make([]float64, len(p.Parts))
		for i := range p.Parts {
			own[i] = p.Parts[i].Seconds(times)
		}
		at := make([]float64, len(p.Parts)+1)
		for _, way := range p.Ways {
			clear(at)
			for _, l := range way.Links {
				end := 0.0
				if l[0] >= 0 {
					end = at[l[0]] + own[l[0]]
				}
				at[l[1]] = max(at[l[1]], end)
			}
			t += float64(way.Probability * at[len(p.Parts)])
		}
	}
	return t
}

// scaled returns the part with all its times multiplied by x.
func (p Part) scaled(x float64) Part {
	p.Runs *= x
	p.Delay *= x
	parts := p.Parts
	p.Parts = make([]Part, len(parts))
	for i := range parts {
		p.Parts[i] = parts[i].scaled(x)
	}
	return p
}

// Parts returns the terms of which [Workflow.Response] consists, with series-parallel parts found as far as the graph
// has them. A node can be in several of them, and the functions of some nodes are at several nodes.
//
// In each combination of branches the nodes that all paths pass add up, and so do the blocks of parallel paths between
// two of them: a block is a part as often as it is passed. Where branches lie within a block, its time is an
// expectation over their combinations, each with its longest path; see [Other].
//
// The parts are compared with Response at a few points, and it is an error if they differ there.
func (w *Workflow) Parts(d Delays) (Part, error) {
	top := w.newPartBuilder(d).whole()
	// Delays that no part has are the same for all times: they are what is left.
	times := make([]float64, w.NumNodes())
	draw := rng.NewStream(1, "workflow/parts")
	for probe := range 4 {
		for n := range times {
			times[n] = math.Exp(float64(4 * (float64(draw.Float64()) - 0.5)))
		}
		rest := w.Response(times, d) - top.Seconds(times)
		if probe == 0 {
			top.Delay += rest
		} else if math.Abs(rest) > 1e-9*(1+w.Response(times, d)) {
			return Part{}, fmt.Errorf("workflow %q: its parts differ from its response time by %.3g s", w.Name(), rest)
		}
	}
	return top, nil
}
