package placement

import (
	"fmt"
	"strings"

	"github.com/stoker-rl/stoker/envs"
)

// Units of features.
const (
	asTime   = "s, as t/(t+1)"
	asSigned = "s, as t/(|t|+1)"
	asData   = "MB, as d/(d+10)"
	asCount  = "as n/(n+8)"
	asMost   = "of the most that a node has"
	asShare  = "share"
)

// Features names the features of each kind of node, and of each kind of edge.
func (l *Layout) Features() (nodes, edges [][]string) {
	g := l.space()
	for _, n := range g.Nodes {
		names, _, _ := envs.Columns(n.Features)
		nodes = append(nodes, names)
	}
	for _, e := range g.Edges {
		names, _, _ := envs.Columns(e.Features)
		edges = append(edges, names)
	}
	return nodes, edges
}

// ofResources describes a feature for each resource; form has a place for its name.
func ofResources(form, unit, doc string) (out []envs.Component) {
	for _, r := range ResourceNames {
		out = append(out, envs.Component{Name: fmt.Sprintf(form, r), Unit: unit, Doc: doc})
	}
	return out
}

func (l *Layout) functionFeatures() []envs.Component {
	return append(ofResources("%s", asMost, "what an invocation demands at amount 1"), []envs.Component{
		{Name: "work", Unit: asTime, Doc: "mean work of an invocation at amount 1 and speed 1"},
		{Name: "parallel", Unit: asShare, Doc: "share of the work that more resources speed up"},
		{Name: "cold start", Unit: asTime, Doc: "how long a cold start takes"},
		{Name: "waiting", Unit: asCount, Doc: "invocations that wait"},
		{Name: "backlog", Unit: asCount, Doc: "of these, invocations that the graph does not show"},
		{Name: "running", Unit: asCount, Doc: "invocations that run"},
		{Name: "warm", Unit: asCount, Doc: "instances that are warm and idle"},
		{Name: "since", Unit: asTime, Doc: "since its last invocation came; 1 where none did"},
		{Name: "cold share", Unit: asShare, Doc: "cold starts among its last starts"},
	}...)
}

func (l *Layout) nodeFeatures() []envs.Component {
	out := ofResources("%s", asMost, "capacity")
	out = append(out, ofResources("free %s", asMost, "what no instance holds")...)
	return append(out, []envs.Component{
		{Name: "warm memory", Unit: asMost, Doc: "memory of idle instances, which a cold start can take"},
		{Name: "speed", Unit: "of the fastest node", Doc: "speed"},
		{Name: "price", Unit: "of the dearest node", Doc: "price"},
		{Name: "running", Unit: asCount, Doc: "invocations that run on it"},
		{Name: "next end", Unit: asTime, Doc: "until one of them is expected to end; 1 where none runs"},
		{Name: "recent cpu", Unit: asShare, Doc: "CPU in use, averaged over about 10 s"},
	}...)
}

func (l *Layout) invocationFeatures() []envs.Component {
	out := []envs.Component{{Name: "waiting", Doc: "1 where it waits, 0 where it runs"}}
	for _, r := range ResourceNames {
		for _, a := range l.Amounts {
			out = append(out, envs.Component{Name: fmt.Sprintf("%s at %g", r, a), Unit: asMost,
				Doc: "what it takes with this amount, at most 2"})
		}
	}
	out = append(out, envs.Component{Name: "cold start", Unit: asTime, Doc: "how long a cold start takes"})
	for _, a := range l.Amounts {
		out = append(out, envs.Component{Name: fmt.Sprintf("time at %g", a), Unit: asTime,
			Doc: "expected time with this amount, at speed 1, warm"})
	}
	return append(out, []envs.Component{
		{Name: "size", Unit: "of the largest request", Doc: "size of its request"},
		{Name: "work", Unit: asTime, Doc: "expected time at amount 1"},
		{Name: "path", Unit: asTime, Doc: "longest path from its start to the end of its request, at amount 1"},
		{Name: "priority", Unit: "of the largest weight", Doc: "weight of its request"},
		{Name: "input", Unit: asData, Doc: "what it takes from its predecessors"},
		{Name: "waited", Unit: asTime, Doc: "since it began to wait"},
		{Name: "slack", Unit: asSigned, Doc: "until its request's deadline, negative beyond it"},
		{Name: "age", Unit: asTime, Doc: "since its request arrived"},
		{Name: "held", Unit: asShare, Doc: "its request's largest share of any of the cluster's resources"},
		{Name: "remaining", Unit: asTime, Doc: "work of its request that is not done, weighted by demands"},
		{Name: "stage done", Unit: asShare, Doc: "ended invocations of the same level of its request"},
		{Name: "left", Unit: "of the longest workflow", Doc: "invocations of its request that have not ended"},
		{Name: "warm nodes", Unit: "of the nodes", Doc: "nodes where its function is warm; 0 where it runs"},
		{Name: "runs on", Unit: asTime, Doc: "until it is expected to end; 0 where it waits"},
		{Name: "amount", Unit: "of the amounts", Doc: "amount with which it runs; 0 where it waits"},
	}...)
}

func dependencyFeatures() []envs.Component {
	return []envs.Component{
		{Name: "frequency", Unit: "per request", Doc: "how often a request takes this way"},
		{Name: "data", Unit: asData, Doc: "what is handed on"},
	}
}

func allocationFeatures() []envs.Component {
	out := []envs.Component{{Name: "granted", Doc: "1 where the invocation runs on the node, 0 where it waits"}}
	out = append(out, ofResources("share of %s", "of the node's", "what it holds")...)
	return append(out, []envs.Component{
		{Name: "remains", Unit: asTime, Doc: "until it is expected to end"},
		{Name: "warm", Doc: "1 where its function is warm on the node and it waits"},
		{Name: "local input", Unit: asShare, Doc: "part of its input that lies on the node, where it waits"},
	}...)
}

func temporalFeatures() []envs.Component {
	return []envs.Component{{Name: "gap", Unit: asSigned, Doc: "between the times at which the two began to wait"}}
}

func sharingFeatures() []envs.Component {
	return []envs.Component{
		{Name: "warm", Unit: asCount, Doc: "idle instances of the function on the node"},
		{Name: "running", Unit: asCount, Doc: "invocations of it that run there"},
		{Name: "share of memory", Unit: "of the node's", Doc: "memory of all these"},
	}
}

// space is the space of the graphs.
func (l *Layout) space() envs.Graph {
	return envs.Graph{
		Nodes: []envs.NodeKind{
			{Name: "function", Width: widthOfFunction, Capacity: l.Functions, Features: l.functionFeatures()},
			{Name: "node", Width: widthOfNode, Capacity: l.Nodes, Features: l.nodeFeatures()},
			{Name: "invocation", Width: l.width(), Capacity: l.Window + l.Running, Features: l.invocationFeatures()},
		},
		Edges: []envs.EdgeKind{
			{Name: "dependency", From: FunctionNodes, To: FunctionNodes, Width: widthOfDependency, Capacity: l.dependencies,
				Features: dependencyFeatures()},
			{Name: "allocation", From: InvocationNodes, To: ResourceNodes, Width: widthOfAllocation,
				Capacity: l.Running + l.Window*l.Nodes, Features: allocationFeatures()},
			{Name: "temporal", From: InvocationNodes, To: InvocationNodes, Width: widthOfTemporal,
				Capacity: l.Window + l.Running, Features: temporalFeatures()},
			{Name: "sharing", From: FunctionNodes, To: ResourceNodes, Width: widthOfSharing, Capacity: l.Functions * l.Nodes,
				Features: sharingFeatures()},
		},
	}
}

// describe is the environment's spec.
func (l *Layout) describe() *envs.Spec {
	return &envs.Spec{
		ID: ID,
		Doc: "Start waiting invocations on unlike nodes, each with how much and where, one after another, then let time " +
			"pass.",
		Kinds: []envs.Kind{{
			Name: "scheduler", Agents: 1, Observation: l.space(),
			Doc: "Times of t seconds are seen as t/(t+1), signed ones as t/(|t|+1), data of d MB as d/(d+10), counts n as " +
				"n/(n+8): 0 to 1, or from −1. Resources are shares of the most that a node has.",
			Action:  envs.MultiDiscrete{N: []int{l.Wait() + 1, len(l.Amounts), l.Nodes}},
			Actions: []string{"invocation", "amount", "node"}, ActionUnits: []string{"", "", ""},
			ActionDocs: []string{
				fmt.Sprintf("which waiting invocation to start, by its node in the graph; %d lets time pass", l.Wait()),
				fmt.Sprintf("how much of its resources it gets: 0 to %d stand for %s times its demand", len(l.Amounts)-1,
					multiples(l.Amounts)),
				"on which node to start it, by its node in the graph",
			},
			MaskAfter: l.MaskAfter, Legal: l.Window * l.Nodes, Points: []int{InvocationNodes, -1, ResourceNodes},
		}},
		Step: envs.Timing{Unit: "decision"},
		Info: quantities(), Constraint: "violations", Objective: "slowdown",
		Samples: []envs.Quantity{
			{Name: "slowdown", Unit: "1", Better: envs.Lower, Reduce: envs.Mean, Doc: "of each request that left"},
			{Name: "response time", Unit: "s", Better: envs.Lower, Reduce: envs.Mean, Doc: "of each request that left"},
		},
	}
}

func multiples(amounts []float64) string {
	var out []string
	for _, a := range amounts {
		out = append(out, fmt.Sprintf("%g", a))
	}
	return strings.Join(out, ", ")
}
