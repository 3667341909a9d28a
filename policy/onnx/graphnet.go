package onnx

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/policy/onnx/internal/model"
)

// graphNet adds a [nets.Graph], whose equations are there. A runtime takes a microsecond or so for each operator, whatever
// its size: all graphs go through the same ones, and messages of all kinds of edges meet one softmax and one sum.
type graphNet struct {
	*builder
	arch  nets.Graph
	p     *params
	edges []edges
	rows  []string // number of nodes of each kind, [1]
	x     []string // embeddings of each kind, [n, hidden]
	receivers
	reached []int  // the kinds of nodes that edges reach
	graphs  string // how many there are, [1]
	members []membership
	// pooled is the vector of each graph, [graphs, kinds·hidden].
	pooled string
}

// membership says which nodes of a kind belong to which graph.
type membership struct {
	count string // of each graph, [graphs, 1]
	pairs string // graph and number in that graph of each node, [2, n]
	place string // the same, [n, 2]
	// padded are the embeddings by graph, [graphs, capacity+1, hidden]: zeros behind the last node.
	padded string
}

// edges are the edges of a kind: their ends [e], and their features [e, width] where the kind has any.
type edges struct{ from, to, features string }

// receivers are the nodes that edges reach, for one kind of edges after the other: r rows in all.
type receivers struct {
	of          string // the row that an edge reaches, [e], of all edges
	column      string // the same as [e, 1]
	least, none string // what maxima and sums begin with, [r, 1]
	node        string // the edge's node among all that edges reach, [e, 1]
	rows        string // how many nodes of each kind they are, [kinds]
}

// embed adds the network up to its heads.
func (b *builder) embed(a nets.Graph, weights []float32, space *envs.Graph, along []edges) (*graphNet, error) {
	p, err := newParams(a, weights)
	if err != nil {
		return nil, err
	}
	n := &graphNet{builder: b, arch: a, p: p, edges: along[:len(a.Edges)]}
	for k, kind := range a.Nodes {
		b.under = "in/"
		nodes := "node." + space.Nodes[k].Name
		n.rows = append(n.rows, n.length(nodes))
		n.x = append(n.x, b.do("Relu", n.linear("in."+kind.Name, nodes)))
	}
	b.under = "graphs/"
	n.belong(space)
	b.under = "edges/"
	if len(n.edges) > 0 {
		n.receive()
	}
	for l := range a.Layers {
		b.under = fmt.Sprintf("layer%d/", l)
		n.layer(l)
	}
	b.under = "pool/"
	n.pool(space)
	b.under = ""
	return n, nil
}

// length is the size of the first dimension, [1].
func (n *graphNet) length(x string) string {
	return n.op("Shape", []model.Attribute{{Name: "start", Value: int64(0)}, {Name: "end", Value: int64(1)}}, x)
}

// belong finds out which nodes belong to which graph. Without counts all belong to one.
func (n *graphNet) belong(space *envs.Graph) {
	counts := n.do("Where", n.do("Equal", countInput, n.whole(oneGraph)), n.concat(0, n.rows...), countInput)
	n.graphs = n.length(countInput)
	for k, kind := range space.Nodes {
		m := membership{count: n.on("Gather", "axis", 1, counts, n.ints(int64(k)))}
		numbers := make([]int64, kind.Capacity)
		for i := range numbers {
			numbers[i] = int64(i)
		}
		m.pairs = n.do("NonZero", n.do("Less", n.ints(numbers...), m.count))
		m.place = n.transpose(m.pairs, 1, 0)
		n.members = append(n.members, m)
	}
}

// countInput is the name of the input with the number of nodes of each kind by graph.
const countInput = "count"

// oneGraph is the number of nodes of a graph where the caller leaves it out: all.
const oneGraph = -1

// linear is x·weight + bias.
func (n *graphNet) linear(name, x string) string {
	return n.do("Gemm", x, n.p.weight(n.builder, name+".weight"), n.p.vector(n.builder, name+".bias"))
}

// receive sets the receivers.
func (n *graphNet) receive() {
	r := &n.receivers
	n.reached = make([]int, 0, len(n.x))
	var rows []string
	for k := range n.x {
		if slices.ContainsFunc(n.arch.Edges, func(e nets.GraphEdges) bool { return e.To == k }) {
			n.reached, rows = append(n.reached, k), append(rows, n.rows[k])
		}
	}
	r.rows = n.concat(0, rows...)
	var counts []string
	for _, e := range n.arch.Edges {
		counts = append(counts, n.rows[e.To])
	}
	of := n.concat(0, counts...)
	first, firstNode := n.starts(of, len(counts)), n.starts(r.rows, len(rows))
	var ends, nodes []string
	for i, e := range n.edges {
		ends = append(ends, n.do("Add", e.to, first[i]))
		nodes = append(nodes, n.do("Add", e.to, firstNode[slices.Index(n.reached, n.arch.Edges[i].To)]))
	}
	r.of = n.concat(0, ends...)
	r.column, r.node = n.unsqueeze(r.of, 1), n.unsqueeze(n.concat(0, nodes...), 1)
	one := n.concat(0, n.sum(of, 0), n.ints(1))
	r.least, r.none = n.do("Expand", n.number(lowest), one), n.do("Expand", n.number(0), one)
}

// starts are where parts of these sizes begin, [1] each, where they stand one after another.
func (n *graphNet) starts(sizes string, parts int) []string {
	return n.split(n.on("CumSum", "exclusive", 1, sizes, n.whole(0)), 0, slices.Repeat([]int64{1}, parts)...)
}

// layer does x ← ReLU(norm(x + y)).
func (n *graphNet) layer(l int) {
	h := n.arch.Hidden
	of := func(name, parameter string) []float32 {
		return n.p.of(fmt.Sprintf("layer%d.%s.%s", l, name, parameter), 0)
	}
	messages, sent := make([]string, len(n.edges)), make([]string, len(n.edges))
	for i, e := range n.edges {
		k := n.arch.Edges[i]
		m := n.do("MatMul", n.x[k.From], n.floats("weight", []int{h, h}, of(k.Name, "weight")))
		m = n.on("Gather", "axis", 0, m, e.from)
		if k.Width > 0 {
			m = n.do("Gemm", e.features, n.floats("features", []int{k.Width, h}, of(k.Name, "features")), m)
		}
		messages[i], sent[i] = m, n.do("MatMul", m, n.floats("source", []int{h, 1}, of(k.Name, "source")))
	}
	before := make([]string, len(n.x)) // what a node has of itself
	for k, kind := range n.arch.Nodes {
		if n.arch.Updated(k) {
			before[k] = n.itself(k, of(kind.Name, "bias"), func() []float32 { return of(kind.Name, "own") })
		}
	}
	if len(n.edges) > 0 {
		n.attention(messages, sent, n.wanted(of), before)
	}
	for k, kind := range n.arch.Nodes {
		if !n.arch.Updated(k) {
			continue
		}
		y := before[k]
		if n.arch.Norm == nets.LayerNorm {
			y = n.norm(n.p, fmt.Sprintf("layer%d.%s", l, kind.Name), y)
		}
		n.x[k] = n.do("Relu", y)
	}
}

// itself is bias + x + x·own, [n, hidden]: x and x·own where the network has them.
func (n *graphNet) itself(k int, bias []float32, own func() []float32) string {
	h := n.arch.Hidden
	b := n.floats("bias", []int{h}, bias)
	if !n.arch.Own {
		if n.arch.Skip {
			return n.do("Add", n.x[k], b)
		}
		return n.do("Expand", b, n.concat(0, n.rows[k], n.ints(int64(h))))
	}
	w := own()
	if n.arch.Skip { // one product for both
		w = slices.Clone(w)
		for i := range h {
			w[i*h+i]++
		}
	}
	return n.do("Gemm", n.x[k], n.floats("own", []int{h, h}, w), b)
}

// wanted is the score of a message by its receiver, for each kind of edges: [n, 1].
func (n *graphNet) wanted(of func(name, parameter string) []float32) []string {
	out := make([]string, len(n.edges))
	for k, x := range n.x {
		var each [][]float32
		var to []int
		for i, e := range n.arch.Edges {
			if e.To == k {
				each, to = append(each, combined(columns(of(e.Name, "weight"), n.arch.Hidden), of(e.Name, "target"))), append(to, i)
			}
		}
		if len(to) == 0 {
			continue
		}
		for i, score := range n.split(n.do("MatMul", x, n.matrix(each)), 1, slices.Repeat([]int64{1}, len(to))...) {
			out[to[i]] = score
		}
	}
	return out
}

// attention adds to what nodes have, [n, hidden] by kind, what edges bring. Messages are [e, hidden], sent and wanted their
// scores by sender [e, 1] and by receiver [n, 1].
func (n *graphNet) attention(messages, sent, wanted, nodes []string) {
	r := &n.receivers
	seen := func(x string) string { return n.on("Gather", "axis", 0, x, r.of) } // by each edge's receiver
	score := n.do("Add", n.concat(0, sent...), seen(n.concat(0, wanted...)))
	score = n.op("LeakyRelu", []model.Attribute{{Name: "alpha", Value: float32(nets.Slope)}}, score)
	most := n.scatter("ScatterElements", "max", r.least, r.column, score)
	share := n.do("Exp", n.do("Sub", score, seen(most)))
	share = n.do("Div", share, seen(n.scatter("ScatterElements", "add", r.none, r.column, share)))
	var all []string
	for _, k := range n.reached {
		all = append(all, nodes[k])
	}
	got := n.scatter("ScatterND", "add", n.concat(0, all...), r.node, n.do("Mul", share, n.concat(0, messages...)))
	parts := []string{got}
	if len(all) > 1 {
		parts = n.opN(len(all), "Split", []model.Attribute{{Name: "axis", Value: int64(0)}}, got, r.rows)
	}
	for i, k := range n.reached {
		nodes[k] = parts[i]
	}
}

// matrix is a constant matrix with these columns.
func (n *graphNet) matrix(columns [][]float32) string {
	var data []float32
	for i := range columns[0] {
		for _, c := range columns {
			data = append(data, c[i])
		}
	}
	return n.floats("matrix", []int{len(columns[0]), len(columns)}, data)
}

// columns are the columns of a matrix [rows, width].
func columns(m []float32, width int) [][]float32 {
	out := make([][]float32, width)
	for i, x := range m {
		out[i%width] = append(out[i%width], x)
	}
	return out
}

// combined is the matrix with these columns times a vector.
func combined(columns [][]float32, by []float32) []float32 {
	out := make([]float32, len(columns[0]))
	for i := range out {
		var sum float64
		for j, c := range columns {
			sum += float64(c[i]) * float64(by[j])
		}
		out[i] = float32(sum)
	}
	return out
}

func (n *graphNet) scatter(op, reduction, data, indices, updates string) string {
	return n.op(op, []model.Attribute{{Name: "reduction", Value: reduction}}, data, indices, updates)
}

// pool sets the vectors of graphs: the means of their nodes' embeddings, zeros of a kind without nodes.
func (n *graphNet) pool(space *envs.Graph) {
	var means []string
	for k := range n.x {
		m := &n.members[k]
		nothing := n.do("Expand", n.number(0), n.concat(0, n.graphs, n.ints(int64(space.Nodes[k].Capacity+1), int64(n.arch.Hidden))))
		m.padded = n.do("ScatterND", nothing, m.place, n.x[k])
		count := n.do("Max", n.cast(m.count, model.Float), n.number(1))
		means = append(means, n.do("Div", n.op("ReduceSum", []model.Attribute{{Name: "keepdims", Value: int64(0)}}, m.padded, n.ints(1)),
			count))
	}
	n.pooled = n.concat(1, means...)
}

// head adds a head: its scores are [n, 1] of nodes, [graphs, out] of plain choices. given are embeddings of the nodes chosen,
// [graphs, hidden] each, and extra is [graphs, Extra], empty where there are none.
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
	y := n.do("Gemm", n.concat(1, rest...), shared, n.p.vector(n.builder, name+".0.bias"))
	if own > 0 {
		y = n.on("Gather", "axis", 0, y, n.on("Gather", "axis", 0, n.members[h.Per].pairs, n.whole(0)))
		y = n.do("Add", n.do("MatMul", n.x[h.Per], n.floats("own", []int{own, hidden}, first[:own*hidden])), y)
	}
	return n.linear(name+".1", n.do("Relu", y))
}
