package onnx

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/policy/onnx/internal/model"
)

// graphNet adds a [nets.Graph] for one graph: its equations are there. A runtime takes a microsecond or so for each
// operator, whatever its size, so all kinds of edges go through the same ones.
type graphNet struct {
	*builder
	arch  nets.Graph
	p     *params
	edges []edges
	rows  []string // number of nodes of each kind, [1]
	x     []string // embeddings of each kind, [n, hidden]
	receivers
	// pooled is the graph's vector, [1, kinds·hidden].
	pooled string
}

// edges are the edges of a kind: their ends [e], and their features [e, width] where the kind has any.
type edges struct{ from, to, features string }

// receivers are the nodes that edges reach, for one kind of edges after the other: r rows in all.
type receivers struct {
	counts      string // by kind of edges, [kinds]
	of          string // the row that an edge reaches, [e], of all edges
	column      string // the same as [e, 1]
	least, none string // what maxima and sums begin with, [r, 1]
	nothing     string // zeros, [r, hidden]
}

// embed adds the network up to its heads, for nodes with features [n, width].
func (b *builder) embed(a nets.Graph, weights []float32, nodes []string, along []edges) (*graphNet, error) {
	p, err := newParams(a, weights)
	if err != nil {
		return nil, err
	}
	n := &graphNet{builder: b, arch: a, p: p, edges: along[:len(a.Edges)]}
	for k, kind := range a.Nodes {
		b.under = "in/"
		n.rows = append(n.rows, b.op("Shape", []model.Attribute{{Name: "start", Value: int64(0)},
			{Name: "end", Value: int64(1)}}, nodes[k]))
		n.x = append(n.x, b.do("Relu", n.linear("in."+kind.Name, nodes[k])))
	}
	b.under = "edges/"
	if len(n.edges) > 0 {
		n.receive()
	}
	for l := range a.Layers {
		b.under = fmt.Sprintf("layer%d/", l)
		n.layer(l)
	}
	b.under = "pool/"
	n.pool()
	b.under = ""
	return n, nil
}

// linear is x·weight + bias.
func (n *graphNet) linear(name, x string) string {
	return n.do("Gemm", x, n.p.weight(n.builder, name+".weight"), n.p.vector(n.builder, name+".bias"))
}

// receive sets the receivers.
func (n *graphNet) receive() {
	r := &n.receivers
	var counts, ends []string
	for _, e := range n.arch.Edges {
		counts = append(counts, n.rows[e.To])
	}
	r.counts = n.concat(0, counts...)
	starts := n.split(n.on("CumSum", "exclusive", 1, r.counts, n.whole(0)), 0, slices.Repeat([]int64{1}, len(counts))...)
	for i, e := range n.edges {
		ends = append(ends, n.do("Add", e.to, starts[i]))
	}
	r.of = n.concat(0, ends...)
	r.column = n.unsqueeze(r.of, 1)
	all := n.sum(r.counts, 0)
	one := n.concat(0, all, n.ints(1))
	r.least, r.none = n.do("Expand", n.number(lowest), one), n.do("Expand", n.number(0), one)
	r.nothing = n.do("Expand", n.number(0), n.concat(0, all, n.ints(int64(n.arch.Hidden))))
}

// layer does x ← ReLU(norm(x + y)). What is multiplied by the embeddings of a kind of nodes is one matrix.
func (n *graphNet) layer(l int) {
	h := n.arch.Hidden
	of := func(name, parameter string) []float32 {
		return n.p.of(fmt.Sprintf("layer%d.%s.%s", l, name, parameter), 0)
	}
	// The columns of a kind's weights, and one more: what they add to a message's score.
	scored := func(name, weights string) [][]float32 {
		w := columns(of(name, weights), h)
		return append(w, combined(w, of(name, "source")))
	}
	messages, wanted := make([]string, len(n.edges)), make([]string, len(n.edges)) // by sender, by receiver
	own := make([]string, len(n.x))
	for k, x := range n.x {
		var all [][]float32
		var sizes []int64
		var to []*string
		part := func(at *string, columns ...[]float32) {
			all, sizes, to = append(all, columns...), append(sizes, int64(len(columns))), append(to, at)
		}
		for i, e := range n.arch.Edges {
			if e.From == k {
				part(&messages[i], scored(e.Name, "weight")...)
			}
			if e.To == k {
				part(&wanted[i], combined(columns(of(e.Name, "weight"), h), of(e.Name, "target")))
			}
		}
		if n.arch.Own {
			part(&own[k], columns(of(n.arch.Nodes[k].Name, "own"), h)...)
		}
		if len(to) > 0 {
			for i, y := range n.split(n.do("MatMul", x, n.matrix(all)), 1, sizes...) {
				*to[i] = y
			}
		}
	}
	for i, e := range n.edges {
		messages[i] = n.on("Gather", "axis", 0, messages[i], e.from)
		if k := n.arch.Edges[i]; k.Width > 0 {
			messages[i] = n.do("Gemm", e.features, n.matrix(scored(k.Name, "features")), messages[i])
		}
	}
	sums := make([][]string, len(n.x)) // by receiver
	if len(n.edges) > 0 {
		for i, sum := range n.attention(messages, wanted) {
			to := n.arch.Edges[i].To
			sums[to] = append(sums[to], sum)
		}
	}
	for k, kind := range n.arch.Nodes {
		if !n.arch.Updated(k) {
			continue
		}
		terms := []string{n.floats("bias", []int{h}, of(kind.Name, "bias"))}
		if n.arch.Skip {
			terms = append(terms, n.x[k])
		}
		if n.arch.Own {
			terms = append(terms, own[k])
		}
		y := n.do("Sum", append(terms, sums[k]...)...)
		if n.arch.Norm == nets.LayerNorm {
			y = n.norm(n.p, fmt.Sprintf("layer%d.%s", l, kind.Name), y)
		}
		n.x[k] = n.do("Relu", y)
	}
}

// attention is what the edges of each kind bring to the nodes that they can reach, [n, hidden]. Messages are [e, hidden+1], the
// last column is the score by the sender; wanted is the score by the receiver, [n, 1].
func (n *graphNet) attention(messages, wanted []string) []string {
	r := &n.receivers
	seen := func(x string) string { return n.on("Gather", "axis", 0, x, r.of) } // by each edge's receiver
	both := n.split(n.concat(0, messages...), 1, int64(n.arch.Hidden), 1)
	score := n.do("Add", both[1], seen(n.concat(0, wanted...)))
	score = n.op("LeakyRelu", []model.Attribute{{Name: "alpha", Value: float32(nets.Slope)}}, score)
	most := n.scatter("ScatterElements", "max", r.least, r.column, score)
	share := n.do("Exp", n.do("Sub", score, seen(most)))
	share = n.do("Div", share, seen(n.scatter("ScatterElements", "add", r.none, r.column, share)))
	got := n.scatter("ScatterND", "add", r.nothing, r.column, n.do("Mul", share, both[0]))
	return n.opN(len(messages), "Split", []model.Attribute{{Name: "axis", Value: int64(0)}}, got, r.counts)
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
	y := n.do("Gemm", n.concat(1, rest...), shared, n.p.vector(n.builder, name+".0.bias"))
	if own > 0 {
		y = n.do("Add", n.do("MatMul", n.x[h.Per], n.floats("own", []int{own, hidden}, first[:own*hidden])), y)
	}
	return n.linear(name+".1", n.do("Relu", y))
}
