package onnx

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/graphs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/policy/onnx/internal/model"
)

// graph adds a policy over graphs: it chooses component by component, and each choice is an input of the next one's
// scores. Several graphs are one that is not connected: one after another in all inputs and outputs, as the rows of one are.
func (p *policy) graph(k *actor.Kind) error {
	prob, arch, err := k.Graph(p.spec)
	if err != nil {
		return err
	}
	if prob.Agents != 1 {
		return fmt.Errorf("%d agents see a graph each, want one: a model decides for one graph", prob.Agents)
	}
	along := p.graphInputs(&prob.Space, arch)
	net, err := p.embed(arch, p.file.Arrays[k.Array("network")].Data, &prob.Space, along)
	if err != nil {
		return fmt.Errorf("array %q: %w", k.Array("network"), err)
	}
	c := &chooser{graphNet: net, prob: prob, free: p.number(float32(math.Inf(-1)))}
	for i := range prob.Components {
		c.choose(i)
	}
	kind := prefix(p.spec, 0)
	row := func(parts []string) string { return p.reshape(p.concat(1, parts...), -1) }
	p.output(kind+"action", p.cast(row(c.chosen), model.Float), p.actionDoc(prob.Kind), model.Float, graphsOf(len(c.chosen)))
	p.output(kind+"scores", row(c.scores), "the network's score of each choice, component by component; −infinity for a node "+
		"that is not there", model.Float, graphsOf(prob.N))
	return nil
}

// graphsOf is a dimension with n entries for each graph.
func graphsOf(n int) model.Dim { return model.Dim{Name: fmt.Sprintf("graphs*%d", n)} }

// graphInputs adds the nodes and edges of a graph. A network may have each kind of edge the other way round too.
func (p *policy) graphInputs(s *envs.Graph, arch nets.Graph) (along []edges) {
	for _, k := range s.Nodes {
		p.input("node."+k.Name, fmt.Sprintf("features of each %s, at most %d of them in a graph", k.Name, k.Capacity), model.Float,
			model.Dim{Name: k.Name}, model.Dim{Size: k.Width})
	}
	p.optional(countInput, "where there are several graphs, how many nodes of each kind each has, in the order of the kinds",
		model.Dim{Name: "graphs"}, model.Dim{Size: len(s.Nodes)})
	for _, k := range s.Edges {
		count := model.Dim{Name: "edge." + k.Name}
		index := p.input("edge."+k.Name+".index", fmt.Sprintf("by edge, the %s where it begins and the %s where it ends",
			s.Nodes[k.From].Name, s.Nodes[k.To].Name), model.Int64, model.Dim{Size: 2}, count)
		e := edges{features: p.input("edge."+k.Name+".features", "features of each edge", model.Float, count,
			model.Dim{Size: k.Width})}
		p.under = "edges/"
		e.from, e.to = p.on("Gather", "axis", 0, index, p.whole(0)), p.on("Gather", "axis", 0, index, p.whole(1))
		p.under = ""
		along = append(along, e)
	}
	if len(arch.Edges) > len(along) {
		for _, e := range along {
			along = append(along, edges{e.to, e.from, e.features})
		}
	}
	return along
}

// chooser adds the choices of a graph's components, one after another.
type chooser struct {
	*graphNet
	prob  *graphs.Problem
	free  string // −infinity
	heads int    // used so far

	// By component: the choice [graphs, 1] in int64, and its scores [graphs, choices].
	chosen, scores []string
	// given are the embeddings of nodes chosen, [graphs, hidden], and plain the one-hot forms of plain choices,
	// [graphs, options].
	given, plain []string
}

func (c *chooser) choose(i int) {
	k := &c.prob.Components[i]
	extra := ""
	if len(c.plain) > 0 {
		extra = c.concat(1, c.plain...)
	}
	given := c.given[:len(c.given):len(c.given)]
	var parts []string
	if k.Points >= 0 {
		parts = append(parts, c.ofNodes(k, c.head(c.heads, given, extra)))
		c.heads++
	}
	if k.N > k.Nodes {
		parts = append(parts, c.head(c.heads, given, extra))
		c.heads++
	}
	c.under = "choose/" + k.Name + "/"
	defer func() { c.under = "" }()
	scores := c.concat(1, parts...)
	shape := c.table(i)
	dims := append([]model.Dim{graphsOf(shape[0])}, model.Fixed(shape[1:]...)...)
	legal := c.input("legal."+component(c.prob.Kind, i), tableDoc(c.prob.Kind, i), model.Bool, dims...)
	each := []int64{-1}
	for _, n := range shape {
		each = append(each, int64(n))
	}
	legal = c.reshape(legal, each...)
	if i > 0 && c.prob.Kind.MaskAfter != nil {
		legal = c.on("GatherND", "batch_dims", 1, legal, c.concat(1, slices.Clone(c.chosen)...))
	}
	choice := c.first(c.do("Where", legal, scores, c.free))
	c.chosen, c.scores = append(c.chosen, choice), append(c.scores, scores)
	if i < len(c.prob.Components)-1 {
		c.remember(k, choice)
	}
}

// table is the shape of a component's table of legal choices.
func (c *chooser) table(i int) []int {
	if c.prob.Kind.MaskAfter == nil {
		return []int{c.prob.Components[i].N}
	}
	return tables(c.prob.Kind)[i]
}

// ofNodes lays the scores of nodes, [n, 1], out by the space's capacity, [graphs, capacity]: −infinity for those that are not
// there.
func (c *chooser) ofNodes(k *graphs.Component, scores string) string {
	c.under = "choose/" + k.Name + "/"
	defer func() { c.under = "" }()
	o := &c.members[k.Points]
	nowhere := c.do("Expand", c.free, c.concat(0, c.graphs, c.ints(int64(k.Nodes))))
	return c.do("ScatterND", nowhere, o.place, c.squeeze(scores, 1))
}

// remember makes a choice an input of the heads that follow.
func (c *chooser) remember(k *graphs.Component, choice string) {
	if k.Points >= 0 {
		// A plain choice stands for no node: for the row of zeros behind the last.
		row := c.do("Min", choice, c.whole(int64(k.Nodes)))
		c.given = append(c.given, c.on("GatherND", "batch_dims", 1, c.members[k.Points].padded, row))
	}
	if o := k.N - k.Nodes; o > 0 {
		numbers := make([]int64, o)
		for i := range numbers {
			numbers[i] = int64(k.Nodes + i)
		}
		c.plain = append(c.plain, c.cast(c.do("Equal", choice, c.ints(numbers...)), model.Float))
	}
}
