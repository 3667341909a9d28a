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

// graph adds a policy over graphs: it chooses component by component for one graph, and each choice is an input of the
// next one's scores.
func (p *policy) graph(k *actor.Kind) error {
	prob, arch, err := k.Graph(p.spec)
	if err != nil {
		return err
	}
	if prob.Agents != 1 {
		return fmt.Errorf("%d agents see a graph each, want one: a model decides for one graph", prob.Agents)
	}
	nodes, along := p.graphInputs(&prob.Space, arch)
	net, err := p.embed(arch, p.file.Arrays[k.Array("network")].Data, nodes, along)
	if err != nil {
		return fmt.Errorf("array %q: %w", k.Array("network"), err)
	}
	c := &chooser{graphNet: net, prob: prob, free: p.number(float32(math.Inf(-1)))}
	for i := range prob.Components {
		c.choose(i)
	}
	kind := prefix(p.spec, 0)
	p.output(kind+"action", p.cast(p.concat(0, c.chosen...), model.Float), p.actionDoc(prob.Kind), model.Float,
		model.Fixed(len(c.chosen))...)
	p.output(kind+"scores", p.concat(0, c.scores...), "the network's score of each choice, component by component; "+
		"−infinity for a node that is not there", model.Float, model.Fixed(prob.N)...)
	return nil
}

// graphInputs adds the nodes and edges of a graph. A network may have each kind of edge the other way round too.
func (p *policy) graphInputs(s *envs.Graph, arch nets.Graph) (nodes []string, along []edges) {
	for _, k := range s.Nodes {
		nodes = append(nodes, p.input("node."+k.Name, fmt.Sprintf("features of each %s, at most %d of them", k.Name,
			k.Capacity), model.Float, model.Dim{Name: k.Name}, model.Dim{Size: k.Width}))
	}
	for _, k := range s.Edges {
		count := model.Dim{Name: "edge." + k.Name}
		index := p.input("edge."+k.Name+".index", fmt.Sprintf("by edge, the %s where it begins and the %s where it ends",
			s.Nodes[k.From].Name, s.Nodes[k.To].Name), model.Int64, model.Dim{Size: 2}, count)
		e := edges{features: p.input("edge."+k.Name+".features", "features of each edge", model.Float, count,
			model.Dim{Size: k.Width})}
		p.under = "edges/"
		e.from = p.squeeze(p.slice(index, 0, 0, 1), 0)
		e.to = p.squeeze(p.slice(index, 0, 1, 2), 0)
		p.under = ""
		along = append(along, e)
	}
	if len(arch.Edges) > len(along) {
		for _, e := range along {
			along = append(along, edges{e.to, e.from, e.features})
		}
	}
	return nodes, along
}

// chooser adds the choices of a graph's components, one after another.
type chooser struct {
	*graphNet
	prob  *graphs.Problem
	free  string // −infinity
	heads int    // used so far

	// By component: the choice [1] in int64, and its scores.
	chosen, scores []string
	// given are the embeddings of nodes chosen, [1, hidden], and plain the one-hot forms of plain choices, [1, options].
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
		parts = append(parts, c.squeeze(c.head(c.heads, given, extra), 0))
		c.heads++
	}
	c.under = "choose/" + k.Name + "/"
	defer func() { c.under = "" }()
	scores := c.concat(0, parts...)
	legal := c.input("legal."+component(c.prob.Kind, i), tableDoc(c.prob.Kind, i), model.Bool, c.table(i)...)
	if i > 0 && c.prob.Kind.MaskAfter != nil {
		legal = c.do("GatherND", legal, c.concat(0, c.chosen...))
	}
	choice := c.on("ArgMax", "axis", 0, c.do("Where", legal, scores, c.free))
	c.chosen, c.scores = append(c.chosen, choice), append(c.scores, scores)
	if i < len(c.prob.Components)-1 {
		c.remember(k, choice)
	}
}

// table is the shape of a component's table of legal choices.
func (c *chooser) table(i int) []model.Dim {
	if c.prob.Kind.MaskAfter == nil {
		return model.Fixed(c.prob.Components[i].N)
	}
	return model.Fixed(tables(c.prob.Kind)[i]...)
}

// ofNodes lays the scores of nodes, [n, 1], out by the space's capacity: −infinity for those that are not there.
func (c *chooser) ofNodes(k *graphs.Component, scores string) string {
	c.under = "choose/" + k.Name + "/"
	defer func() { c.under = "" }()
	missing := c.do("Sub", c.ints(int64(k.Nodes)), c.rows[k.Points])
	return c.concat(0, c.squeeze(scores, 1), c.do("Expand", c.free, missing))
}

// remember makes a choice an input of the heads that follow.
func (c *chooser) remember(k *graphs.Component, choice string) {
	if k.Points >= 0 {
		// A plain choice stands for no node: for the row of zeros behind the last.
		row := c.do("Where", c.do("Less", choice, c.ints(int64(k.Nodes))), choice, c.rows[k.Points])
		padded := c.concat(0, c.x[k.Points], c.zeros(1, c.arch.Hidden))
		c.given = append(c.given, c.on("Gather", "axis", 0, padded, row))
	}
	if o := k.N - k.Nodes; o > 0 {
		numbers := make([]int64, o)
		for i := range numbers {
			numbers[i] = int64(k.Nodes + i)
		}
		is := c.cast(c.do("Equal", choice, c.ints(numbers...)), model.Float)
		c.plain = append(c.plain, c.unsqueeze(is, 0))
	}
}

// graphNet adds a [nets.Graph] for one graph: its equations are there.
type graphNet struct {
	*builder
	arch nets.Graph
	p    *params
	rows []string // number of nodes of each kind, [1]
	x    []string // embeddings of each kind, [n, hidden]
	// pooled is the graph's vector, [1, kinds·hidden].
	pooled string
}

// edges are the edges of a kind: their ends [e], and their features [e, width] where the kind has any.
type edges struct{ from, to, features string }

// embed adds the network up to its heads, for nodes with features [n, width].
func (b *builder) embed(a nets.Graph, weights []float32, nodes []string, edges []edges) (*graphNet, error) {
	p, err := newParams(a, weights)
	if err != nil {
		return nil, err
	}
	n := &graphNet{builder: b, arch: a, p: p}
	for k, kind := range a.Nodes {
		b.under = "in/"
		n.rows = append(n.rows, b.op("Shape", []model.Attribute{{Name: "start", Value: int64(0)},
			{Name: "end", Value: int64(1)}}, nodes[k]))
		n.x = append(n.x, b.do("Relu", n.linear("in."+kind.Name, nodes[k])))
	}
	for l := range a.Layers {
		b.under = fmt.Sprintf("layer%d/", l)
		n.layer(fmt.Sprintf("layer%d.", l), edges)
	}
	b.under = "pool/"
	n.pool()
	b.under = ""
	return n, nil
}

// linear is x·weight + bias.
func (n *graphNet) linear(name, x string) string {
	return n.do("Add", n.do("MatMul", x, n.p.weight(n.builder, name+".weight")), n.p.vector(n.builder, name+".bias"))
}

// layer does x ← ReLU(norm(x + y)).
func (n *graphNet) layer(prefix string, all []edges) {
	sums := make([][]string, len(n.x))
	for i, e := range n.arch.Edges {
		sums[e.To] = append(sums[e.To], n.attention(prefix+e.Name, i, &all[i]))
	}
	next := slices.Clone(n.x)
	for k, kind := range n.arch.Nodes {
		if !n.arch.Updated(k) {
			continue
		}
		name := prefix + kind.Name
		y := n.p.vector(n.builder, name+".bias")
		if n.arch.Own {
			y = n.do("Add", n.do("MatMul", n.x[k], n.p.weight(n.builder, name+".own")), y)
		}
		for _, s := range sums[k] {
			y = n.do("Add", s, y)
		}
		if n.arch.Skip {
			y = n.do("Add", n.x[k], y)
		}
		if n.arch.Norm == nets.LayerNorm {
			y = n.norm(n.p, name, y)
		}
		next[k] = n.do("Relu", y)
	}
	n.x = next
}

// attention is what the edges of a kind bring to each node that they can reach: [n, hidden].
func (n *graphNet) attention(name string, kind int, e *edges) string {
	k, h := n.arch.Edges[kind], n.arch.Hidden
	weight := n.p.weight(n.builder, name+".weight")
	m := n.on("Gather", "axis", 0, n.do("MatMul", n.x[k.From], weight), e.from)
	if k.Width > 0 {
		m = n.do("Add", m, n.do("MatMul", e.features, n.p.weight(n.builder, name+".features")))
	}
	column := func(name string, x []float32) string { return n.floats(name, []int{h, 1}, x) }
	source := n.do("MatMul", m, column("source", n.p.of(name+".source", 0)))
	target := n.do("MatMul", n.x[k.To], column("target", n.seen(name)))
	score := n.do("Add", source, n.on("Gather", "axis", 0, target, e.to))
	score = n.op("LeakyRelu", []model.Attribute{{Name: "alpha", Value: float32(nets.Slope)}}, score)
	share := n.segmentSoftmax(n.squeeze(score, 1), e.to, n.rows[k.To])
	zeros := n.do("Expand", n.number(0), n.concat(0, n.rows[k.To], n.ints(int64(h))))
	return n.scatter("ScatterND", "add", zeros, n.unsqueeze(e.to, 1), n.do("Mul", n.unsqueeze(share, 1), m))
}

// seen is W·target: what a receiver's embedding is multiplied by in a score.
func (n *graphNet) seen(name string) []float32 {
	h := n.arch.Hidden
	w, target, out := n.p.of(name+".weight", 0), n.p.of(name+".target", 0), make([]float32, h)
	for i := range out {
		var sum float64
		for j, t := range target {
			sum += float64(w[i*h+j]) * float64(t)
		}
		out[i] = float32(sum)
	}
	return out
}

// segmentSoftmax is the softmax of scores [e] over those with the same target; rows is the number of targets, [1].
func (n *graphNet) segmentSoftmax(score, to, rows string) string {
	least := n.do("Expand", n.number(lowest), rows)
	most := n.scatter("ScatterElements", "max", least, to, score)
	share := n.do("Exp", n.do("Sub", score, n.on("Gather", "axis", 0, most, to)))
	zeros := n.do("Expand", n.number(0), rows)
	sum := n.scatter("ScatterElements", "add", zeros, to, share)
	return n.do("Div", share, n.on("Gather", "axis", 0, sum, to))
}

func (n *graphNet) scatter(op, reduction, data, indices, updates string) string {
	return n.op(op, []model.Attribute{{Name: "reduction", Value: reduction}}, data, indices, updates)
}

// pool sets the graph's vector: the means of its nodes' embeddings, zeros of a kind without nodes.
func (n *graphNet) pool() {
	var means []string
	for k := range n.x {
		count := n.do("Max", n.cast(n.rows[k], model.Float), n.number(1))
		// A sum over no rows is not defined by every runtime: a row of zeros makes one.
		padded := n.concat(0, n.x[k], n.zeros(1, n.arch.Hidden))
		means = append(means, n.do("Div", n.sum(padded, 0), count))
	}
	n.pooled = n.concat(1, means...)
}

// zeros is a constant matrix of zeros.
func (n *graphNet) zeros(rows, columns int) string {
	return n.floats("zeros", []int{rows, columns}, make([]float32, rows*columns))
}

// head adds a head: its scores are [rows, out]. given are embeddings of the nodes chosen, [1, hidden] each, and extra
// is [1, Extra], empty where there are none.
func (n *graphNet) head(i int, given []string, extra string) string {
	h := n.arch.Heads[i]
	name := "head." + h.Name
	n.under = name + "/"
	defer func() { n.under = "" }()
	rest := append([]string{n.pooled}, given...)
	if extra != "" {
		rest = append(rest, extra)
	}
	// The first layer in two parts: what all rows share is multiplied once.
	first, hidden := n.p.of(name+".0.weight", 0), n.arch.Hidden
	own := 0
	if h.Per != nets.WholeGraph {
		own = hidden
	}
	shared := n.floats("shared", []int{len(first)/hidden - own, hidden}, first[own*hidden:])
	y := n.do("Add", n.do("MatMul", n.concat(1, rest...), shared), n.p.vector(n.builder, name+".0.bias"))
	if own > 0 {
		y = n.do("Add", n.do("MatMul", n.x[h.Per], n.floats("own", []int{own, hidden}, first[:own*hidden])), y)
	}
	return n.linear(name+".1", n.do("Relu", y))
}
