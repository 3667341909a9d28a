// Package graphs is what learners share whose agents observe a graph and choose in components: which node, how much of it,
// where. [Problem] turns an environment with a Graph observation and a MultiDiscrete action into a network over graphs.
// [Scorer] scores one component after the other, given those before; [Gradient] differentiates under the masks; [Actor]
// acts. [List] records observed graphs, [Policy] is the policy that leaves training.
//
// Not here: how the network learns (agents/reinforce), one choice over vectors (agents/choice), the network's arithmetic
// (nets).
package graphs

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/internal/check"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/nets"
)

// Problem is an environment as a graph network sees it that chooses component by component. All agents of the one kind
// share the network; each is a graph.
type Problem struct {
	Kind  *envs.Kind
	Space envs.Graph
	// Agents is the number of graphs of one environment, N the number of choices of all components together.
	Agents, N  int
	Components []Component
}

// Component is one part of the action.
type Component struct {
	Name string
	// N choices, whose part of a mask over all components begins at From.
	N, From int
	// Points is the kind of node among which it chooses, −1 where it is a plain choice. Choices from Nodes on are plain in
	// either case.
	Points, Nodes int
	given         []int // the components before it that point at nodes
	extra         int   // the plain choices of the components before it
	head, options int   // of the policy network: for nodes, for plain choices; −1 without
}

// Net describes the network in a learner's configuration.
type Net struct {
	// Hidden is the width of a node's embedding and of the heads' hidden layer, Layers the number of rounds of messages.
	Hidden int `yaml:"hidden" json:"hidden" range:"[1,2^16]"`
	Layers int `yaml:"layers" json:"layers" range:"[0,64]"`
	// Own adds a node's own embedding, transformed, to what reaches it; Skip adds it as it is; Norm normalises layers
	// ("layer", or empty).
	Own  bool   `yaml:"own" json:"own"`
	Skip bool   `yaml:"skip" json:"skip"`
	Norm string `yaml:"norm" json:"norm" oneof:"layer|"`
	// Dropout is the probability with which a number of an embedding is dropped while learning.
	Dropout float64 `yaml:"dropout" json:"dropout" range:"[0,0.99]"`
	// BothWays sends messages against each edge too, with weights of their own.
	BothWays bool `yaml:"both_ways" json:"both_ways"`
}

// DefaultNet returns two layers of 32 with everything but dropout.
func DefaultNet() Net {
	return Net{Hidden: 32, Layers: 2, Own: true, Skip: true, Norm: nets.LayerNorm, BothWays: true}
}

// NewProblem looks at an environment. It fails, naming the kind, where there are several kinds, where the observation
// is no graph, and where the action is not made of choices.
func NewProblem(s *envs.Spec) (*Problem, error) {
	k, err := check.OneKind(s)
	if err != nil {
		return nil, err
	}
	space, ok := k.Observation.(envs.Graph)
	if !ok {
		return nil, fmt.Errorf("%s: observation space of %s is %v, want a graph", s.ID, k.Name, k.Observation)
	}
	var n []int
	switch a := k.Action.(type) {
	case envs.Discrete:
		n = []int{a.N}
	case envs.MultiDiscrete:
		n = a.N
	default:
		return nil, fmt.Errorf("%s: action space of %s is %v, want MultiDiscrete", s.ID, k.Name, k.Action)
	}
	p := &Problem{Kind: k, Space: space, Agents: k.Agents}
	for i, n := range n {
		c := Component{Name: fmt.Sprintf("action%d", i), N: n, From: p.N, Points: nets.WholeGraph, head: -1, options: -1}
		if i < len(k.Actions) {
			c.Name = k.Actions[i]
		}
		if i < len(k.Points) && k.Points[i] >= 0 {
			c.Points, c.Nodes = k.Points[i], space.Nodes[k.Points[i]].Capacity
			if c.Nodes > n {
				return nil, fmt.Errorf("%s: %s of %s has %d choices, want one for each of up to %d nodes of kind %q", s.ID, c.Name,
					k.Name, n, c.Nodes, space.Nodes[c.Points].Name)
			}
		}
		p.Components = append(p.Components, c)
		p.N += n
	}
	p.number()
	return p, nil
}

// number gives each component its heads and what it is conditioned on.
func (p *Problem) number() {
	heads, extra := 0, 0
	var given []int
	for i := range p.Components {
		c := &p.Components[i]
		c.given, c.extra = given[:len(given):len(given)], extra
		if c.Points >= 0 {
			c.head, heads = heads, heads+1
			given = append(given, i)
		}
		if c.N > c.Nodes {
			c.options, heads = heads, heads+1
		}
		extra += c.N - c.Nodes
	}
}

// Policy is the network that scores the components' choices. Its last layers are drawn from ±bound where that is
// positive.
func (p *Problem) Policy(n Net, bound float64) nets.Graph {
	g := p.trunk(n)
	for i := range p.Components {
		c := &p.Components[i]
		head := nets.GraphHead{Name: c.Name, Per: c.Points, Extra: c.extra, Out: 1, FinalBound: bound}
		for _, b := range c.given {
			head.Given = append(head.Given, p.Components[b].Points)
		}
		if c.head >= 0 {
			g.Heads = append(g.Heads, head)
			head.Name += ".options"
		}
		if c.options >= 0 {
			head.Per, head.Out = nets.WholeGraph, c.N-c.Nodes
			g.Heads = append(g.Heads, head)
		}
	}
	return g
}

// Value is the network that gives each graph's value.
func (p *Problem) Value(n Net) nets.Graph {
	g := p.trunk(n)
	g.Heads = []nets.GraphHead{{Name: "value", Per: nets.WholeGraph, Out: 1}}
	return g
}

func (p *Problem) trunk(n Net) nets.Graph {
	g := nets.Graph{Hidden: n.Hidden, Layers: n.Layers, Own: n.Own, Skip: n.Skip, Norm: n.Norm, Dropout: n.Dropout}
	for _, k := range p.Space.Nodes {
		g.Nodes = append(g.Nodes, nets.GraphNodes{Name: k.Name, Width: k.Width})
	}
	for _, e := range p.Space.Edges {
		g.Edges = append(g.Edges, nets.GraphEdges{Name: e.Name, From: e.From, To: e.To, Width: e.Width})
	}
	if n.BothWays {
		for _, e := range p.Space.Edges {
			g.Edges = append(g.Edges, nets.GraphEdges{Name: e.Name + ".back", From: e.To, To: e.From, Width: e.Width})
		}
	}
	return g
}

// Add adds a graph to a batch of a network that [Problem.Policy] or [Problem.Value] described.
func (p *Problem) Add(b *nets.GraphBatch, g *envs.GraphValue) error {
	b.AddGraph()
	for k, n := range p.Space.Nodes {
		if err := b.AddNodes(k, g.Nodes[k].Features[:g.Nodes[k].Len*n.Width]); err != nil {
			return err
		}
	}
	for k, e := range p.Space.Edges {
		s := &g.Edges[k]
		if err := p.addEdges(b, k, s.From[:s.Len], s.To[:s.Len], s.Features[:s.Len*e.Width]); err != nil {
			return err
		}
	}
	return nil
}

// addEdges adds edges of a kind and, where the network has them, those against them.
func (p *Problem) addEdges(b *nets.GraphBatch, kind int, from, to []int32, features []float32) error {
	if err := b.AddEdges(kind, from, to, features); err != nil {
		return err
	}
	if back := kind + len(p.Space.Edges); back < len(b.Edges) {
		return b.AddEdges(back, to, from, features)
	}
	return nil
}

// List is graphs of one problem, one after another, as they were seen. It keeps its memory.
type List struct {
	p        *Problem
	features []float32 // of each graph: of its nodes, kind by kind, then of its edges
	// Of each graph: how many nodes and edges it has of each kind, then for each kind of edge the nodes where its edges
	// begin, and those where they end.
	numbers []int32
	ends    []listEnd
}

// listEnd is where a graph ends in a list's features and numbers.
type listEnd struct{ features, numbers int }

// NewList returns an empty list.
func NewList(p *Problem) *List { return &List{p: p} }

// Len is the number of graphs.
func (l *List) Len() int { return len(l.ends) }

// Clear removes all graphs.
func (l *List) Clear() { l.features, l.numbers, l.ends = l.features[:0], l.numbers[:0], l.ends[:0] }

// Append adds a copy of a graph.
func (l *List) Append(g *envs.GraphValue) {
	for k := range g.Nodes {
		l.numbers = append(l.numbers, int32(g.Nodes[k].Len))
	}
	for k := range g.Edges {
		l.numbers = append(l.numbers, int32(g.Edges[k].Len))
	}
	for k, n := range l.p.Space.Nodes {
		l.features = append(l.features, g.Nodes[k].Features[:g.Nodes[k].Len*n.Width]...)
	}
	for k, e := range l.p.Space.Edges {
		s := &g.Edges[k]
		l.numbers = append(append(l.numbers, s.From[:s.Len]...), s.To[:s.Len]...)
		l.features = append(l.features, s.Features[:s.Len*e.Width]...)
	}
	l.ends = append(l.ends, listEnd{len(l.features), len(l.numbers)})
}

// AddTo adds graph i to a batch of a network that [Problem.Policy] or [Problem.Value] described.
func (l *List) AddTo(b *nets.GraphBatch, i int) error {
	b.AddGraph()
	return l.walk(i, b.AddNodes, func(kind int, from, to []int32, features []float32) error {
		return l.p.addEdges(b, kind, from, to, features)
	})
}

// walk goes through the nodes and then the edges of graph i, kind by kind. It fails where the graph has not the form
// that Append gives.
func (l *List) walk(i int, nodes func(kind int, features []float32) error,
	edges func(kind int, from, to []int32, features []float32) error) error {
	first := listEnd{}
	if i > 0 {
		first = l.ends[i-1]
	}
	features, numbers := l.features[first.features:l.ends[i].features], l.numbers[first.numbers:l.ends[i].numbers]
	kinds := len(l.p.Space.Nodes) + len(l.p.Space.Edges)
	if len(numbers) < kinds {
		return fmt.Errorf("it has %d numbers, want one for each of %d kinds of nodes and edges", len(numbers), kinds)
	}
	counts, numbers := numbers[:kinds], numbers[kinds:]
	for k, n := range l.p.Space.Nodes {
		count := int(counts[k])
		if count < 0 || count > n.Capacity || count*n.Width > len(features) {
			return fmt.Errorf("it has %d nodes of kind %q and %d features, want at most %d of %d features each", count, n.Name,
				len(features), n.Capacity, n.Width)
		}
		if err := nodes(k, features[:count*n.Width]); err != nil {
			return err
		}
		features = features[count*n.Width:]
	}
	for k, e := range l.p.Space.Edges {
		count := int(counts[len(l.p.Space.Nodes)+k])
		if count < 0 || count > e.Capacity || count*e.Width > len(features) || 2*count > len(numbers) {
			return fmt.Errorf("it has %d edges of kind %q, %d numbers and %d features, want at most %d edges of 2 and %d each",
				count, e.Name, len(numbers), len(features), e.Capacity, e.Width)
		}
		if err := edges(k, numbers[:count], numbers[count:2*count], features[:count*e.Width]); err != nil {
			return err
		}
		numbers, features = numbers[2*count:], features[count*e.Width:]
	}
	if len(numbers)+len(features) > 0 {
		return fmt.Errorf("it has %d numbers and %d features too many", len(numbers), len(features))
	}
	return nil
}

// State implements [state.Stater].
func (l *List) State(c *state.Codec) {
	state.Slice(c, &l.features)
	state.Slice(c, &l.numbers)
	state.Slice(c, &l.ends)
	if c.Loaded() {
		c.Fail(l.check())
	}
}

// check says what is wrong with graphs that were loaded: each must be one of the problem's, with finite features.
func (l *List) check() error {
	last := listEnd{}
	for i, end := range l.ends {
		if end.features < last.features || end.features > len(l.features) || end.numbers < last.numbers ||
			end.numbers > len(l.numbers) {
			return fmt.Errorf("graph %d ends at feature %d and number %d, of which there are %d and %d", i, end.features,
				end.numbers,
				len(l.features), len(l.numbers))
		}
		if err := l.checkGraph(i); err != nil {
			return fmt.Errorf("graph %d: %w", i, err)
		}
		last = end
	}
	if last.features < len(l.features) || last.numbers < len(l.numbers) {
		return fmt.Errorf("%d features and %d numbers follow the last graph", len(l.features)-last.features,
			len(l.numbers)-last.numbers)
	}
	return nil
}

func (l *List) checkGraph(i int) error {
	counts := make([]int, len(l.p.Space.Nodes))
	finite := func(features []float32) error {
		if i := envs.NotFinite(features); i >= 0 {
			return fmt.Errorf("feature %d is %g, want a finite number", i, features[i])
		}
		return nil
	}
	return l.walk(i, func(kind int, features []float32) error {
		counts[kind] = len(features) / max(l.p.Space.Nodes[kind].Width, 1)
		return finite(features)
	}, func(kind int, from, to []int32, features []float32) error {
		e := l.p.Space.Edges[kind]
		for i := range from {
			if from[i] < 0 || to[i] < 0 || int(from[i]) >= counts[e.From] || int(to[i]) >= counts[e.To] {
				return fmt.Errorf("edge %d of kind %q, %d→%d, dangles", i, e.Name, from[i], to[i])
			}
		}
		return finite(features)
	})
}
