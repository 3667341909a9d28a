package onnx

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/policy/onnx/model"
)

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
