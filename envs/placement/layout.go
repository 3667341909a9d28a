package placement

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
)

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

// Age is the time since an invocation's request arrived. Invocations of equal Age, Held and Remaining belong to one
// request, or to requests that are alike.
func (l *Layout) Age(invocation []float32) float32 { return invocation[l.rest()+ofAge] }

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
		for i := range l.Window {
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
