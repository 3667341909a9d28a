package nets

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/rng"
)

// Graph is a network over graphs with several kinds of nodes and edges: attention along the edges, pooling, and
// heads that score nodes or whole graphs. An engine builds it by NewGraphNet and runs it on a [GraphBatch].
//
// Each node's features f are embedded, x = ReLU(f·In + b). Then each of Layers layers sends messages along
// every edge u→v of a kind e, with features f_uv where the kind has any, and mixes those that reach a node by
// attention over the kind's edges into it (GAT, Veličković et al. 2018, one head, weights per kind of edge;
// edge features enter as in PyTorch Geometric's edge_dim, in the message too):
//
//	m_uv = x_u·W_e + f_uv·F_e
//	s_uv = LeakyReLU₀.₂(m_uv·source_e + (x_v·W_e)·target_e)
//	y_v  = Σ_e Σ_{u→v of e} softmax_u(s_uv)·m_uv + x_v·own + b      own where Own is set
//	x_v ← ReLU(norm(x_v + y_v))                                     x_v in the sum where Skip is set; norm where Norm is
//
// with own, b and norm per kind of node. A node without incoming edges of a kind gets nothing of it; a kind of
// node that no kind of edge points to keeps its x, unless Own is set. With Dropout, numbers of the new x are
// zeroed in training with that probability and the others divided by 1 − Dropout. The graph's vector g is, for
// each kind of node, the mean of its nodes' x (zeros where it has none), one after another.
//
// A head is an MLP with one hidden layer, ReLU, over [x_r, g, x of the nodes given, extra numbers], see [GraphHead].
type Graph struct {
	Nodes  []GraphNodes `json:"nodes" yaml:"nodes"`
	Edges  []GraphEdges `json:"edges" yaml:"edges"`
	Hidden int          `json:"hidden" yaml:"hidden"` // width of x and of the heads' hidden layers
	Layers int          `json:"layers" yaml:"layers"`
	Own    bool         `json:"own,omitempty" yaml:"own,omitempty"`
	Skip   bool         `json:"skip,omitempty" yaml:"skip,omitempty"`
	// Norm is NoNorm or LayerNorm.
	Norm string `json:"norm,omitempty" yaml:"norm,omitempty"`
	// Dropout is a probability in [0, 1).
	Dropout float64     `json:"dropout,omitempty" yaml:"dropout,omitempty"`
	Heads   []GraphHead `json:"heads" yaml:"heads"`
}

// GraphNodes is a kind of nodes with Width features each.
type GraphNodes struct {
	Name  string `json:"name" yaml:"name"`
	Width int    `json:"width" yaml:"width"`
}

// GraphEdges is a kind of edges from nodes of kind From to nodes of kind To (indices into Graph.Nodes), with
// Width ≥ 0 features each.
type GraphEdges struct {
	Name  string `json:"name" yaml:"name"`
	From  int    `json:"from" yaml:"from"`
	To    int    `json:"to" yaml:"to"`
	Width int    `json:"width,omitempty" yaml:"width,omitempty"`
}

// WholeGraph as GraphHead.Per: a row for each graph.
const WholeGraph = -1

// GraphHead gives Out numbers for each node of a kind, or for each graph: the scores of a policy's choices. A
// hierarchical choice conditions a later head on what was chosen before: Given lists kinds of nodes of which
// one each is named per graph, and Extra is the number of further inputs per graph, such as a one-hot choice.
type GraphHead struct {
	Name  string `json:"name" yaml:"name"`
	Per   int    `json:"per" yaml:"per"` // a kind of node, or WholeGraph
	Given []int  `json:"given,omitempty" yaml:"given,omitempty"`
	Extra int    `json:"extra,omitempty" yaml:"extra,omitempty"`
	Out   int    `json:"out" yaml:"out"`
	// FinalBound, where positive, draws the last layer from ±FinalBound in place of ±1/√Hidden.
	FinalBound float64 `json:"final_bound,omitempty" yaml:"final_bound,omitempty"`
}

// Slope is LeakyReLU's slope for negative scores.
const Slope = 0.2

// Kind implements [Arch].
func (Graph) Kind() string { return "graph" }

// AgentCount implements [Arch].
func (Graph) AgentCount() int { return 1 }

// Groups implements [Arch].
func (Graph) Groups() int { return 1 }

// Inputs implements [Arch]: the node kinds.
func (g Graph) Inputs() []Port {
	var ps []Port
	for _, n := range g.Nodes {
		ps = append(ps, Port(n))
	}
	return ps
}

// Output implements [Arch]: the graph's vector.
func (g Graph) Output() Port { return Port{"graph", len(g.Nodes) * g.Hidden} }

// HeadWidth is the width of head h's input.
func (g Graph) HeadWidth(h int) int {
	w := g.Output().Width + len(g.Heads[h].Given)*g.Hidden + g.Heads[h].Extra
	if g.Heads[h].Per != WholeGraph {
		w += g.Hidden
	}
	return w
}

// Updated reports whether layers change the nodes of a kind.
func (g Graph) Updated(kind int) bool {
	for _, e := range g.Edges {
		if e.To == kind {
			return true
		}
	}
	return g.Own
}

// Parameters implements [Arch]. In order: in.NODE.weight [width, hidden] and .bias for each kind of node; for
// each layer, for each kind of edge layerN.EDGE.weight [hidden, hidden], .source [hidden], .target [hidden]
// and, with features, .features [width, hidden]; then for each kind of node that is updated layerN.NODE.own
// [hidden, hidden] with Own, .bias and, with LayerNorm, .gain and .offset; then for each head
// head.NAME.0.weight [HeadWidth, hidden], .0.bias, .1.weight [hidden, out], .1.bias.
func (g Graph) Parameters() []Param {
	var ps []Param
	h := g.Hidden
	for _, n := range g.Nodes {
		law := fanIn(n.Width)
		ps = append(ps, Param{"in." + n.Name + ".weight", []int{n.Width, h}, law},
			Param{"in." + n.Name + ".bias", []int{h}, law})
	}
	for l := range g.Layers {
		ps = append(ps, g.layer(fmt.Sprintf("layer%d.", l))...)
	}
	for i, head := range g.Heads {
		name, w := "head."+head.Name, g.HeadWidth(i)
		last := fanIn(h)
		if head.FinalBound > 0 {
			last = Init{Bound: head.FinalBound}
		}
		ps = append(ps, Param{name + ".0.weight", []int{w, h}, fanIn(w)}, Param{name + ".0.bias", []int{h}, fanIn(w)},
			Param{name + ".1.weight", []int{h, head.Out}, last}, Param{name + ".1.bias", []int{head.Out}, last})
	}
	return ps
}

func (g Graph) layer(prefix string) []Param {
	var ps []Param
	h, law := g.Hidden, fanIn(g.Hidden)
	for _, e := range g.Edges {
		name := prefix + e.Name
		ps = append(ps, Param{name + ".weight", []int{h, h}, law}, Param{name + ".source", []int{h}, law},
			Param{name + ".target", []int{h}, law})
		if e.Width > 0 {
			ps = append(ps, Param{name + ".features", []int{e.Width, h}, fanIn(e.Width)})
		}
	}
	for k, n := range g.Nodes {
		if !g.Updated(k) {
			continue
		}
		name := prefix + n.Name
		if g.Own {
			ps = append(ps, Param{name + ".own", []int{h, h}, law})
		}
		ps = append(ps, Param{name + ".bias", []int{h}, law})
		if g.Norm == LayerNorm {
			ps = append(ps, Param{name + ".gain", []int{h}, Init{Centre: 1}}, Param{name + ".offset", []int{h}, Init{}})
		}
	}
	return ps
}

// Validate implements [Arch].
func (g Graph) Validate() error {
	names := map[string]bool{}
	name := func(field, s string) error {
		if s == "" || names[s] {
			return fmt.Errorf("nets: graph: %s is %q, want a name of its own", field, s)
		}
		names[s] = true
		return nil
	}
	if len(g.Nodes) == 0 {
		return fmt.Errorf("nets: graph: nodes is empty, want at least one kind of node")
	}
	for i, n := range g.Nodes {
		if err := name(fmt.Sprintf("nodes[%d].name", i), n.Name); err != nil {
			return err
		}
		if err := validateWidth("graph", fmt.Sprintf("nodes[%d].width (%q)", i, n.Name), n.Width); err != nil {
			return err
		}
	}
	for i, e := range g.Edges {
		if err := name(fmt.Sprintf("edges[%d].name", i), e.Name); err != nil {
			return err
		}
		if !g.isNode(e.From) || !g.isNode(e.To) {
			return fmt.Errorf("nets: graph: edges[%d] (%q) joins %d to %d, want kinds of nodes in [0, %d)", i,
				e.Name, e.From, e.To, len(g.Nodes))
		}
		if e.Width < 0 || e.Width > maxWidth {
			return fmt.Errorf("nets: graph: edges[%d].width (%q) is %d, want 0 to %d", i, e.Name, e.Width, maxWidth)
		}
	}
	if err := validateWidth("graph", "hidden", g.Hidden); err != nil {
		return err
	}
	if g.Layers < 0 || g.Layers > 64 {
		return fmt.Errorf("nets: graph: layers is %d, want 0 to 64", g.Layers)
	}
	if err := oneOf("graph", "norm", g.Norm, NoNorm, LayerNorm); err != nil {
		return err
	}
	if !(g.Dropout >= 0 && g.Dropout < 1) {
		return fmt.Errorf("nets: graph: dropout is %g, want 0 or more and less than 1", g.Dropout)
	}
	if err := g.validateHeads(); err != nil {
		return err
	}
	return validateSize("graph", 1, g.Parameters())
}

func (g Graph) isNode(k int) bool { return k >= 0 && k < len(g.Nodes) }

func (g Graph) validateHeads() error {
	if len(g.Heads) == 0 {
		return fmt.Errorf("nets: graph: heads is empty, want at least one")
	}
	names := map[string]bool{}
	for i, h := range g.Heads {
		field := fmt.Sprintf("heads[%d]", i)
		if h.Name == "" || names[h.Name] {
			return fmt.Errorf("nets: graph: %s.name is %q, want a name of its own", field, h.Name)
		}
		names[h.Name] = true
		if h.Per != WholeGraph && !g.isNode(h.Per) {
			return fmt.Errorf("nets: graph: %s.per (%q) is %d, want a kind of node in [0, %d), or %d for the whole graph",
				field, h.Name, h.Per, len(g.Nodes), WholeGraph)
		}
		for _, k := range h.Given {
			if !g.isNode(k) {
				return fmt.Errorf("nets: graph: %s.given (%q) has %d, want kinds of nodes in [0, %d)", field, h.Name,
					k, len(g.Nodes))
			}
		}
		if h.Extra < 0 || h.Extra > maxWidth {
			return fmt.Errorf("nets: graph: %s.extra (%q) is %d, want 0 to %d", field, h.Name, h.Extra, maxWidth)
		}
		if err := validateWidth("graph", field+".out", h.Out); err != nil {
			return err
		}
		if !(h.FinalBound >= 0) || math.IsInf(h.FinalBound, 0) {
			return fmt.Errorf("nets: graph: %s.final_bound (%q) is %g, want 0 or more", field, h.Name, h.FinalBound)
		}
	}
	return nil
}

// DropoutMask writes what a layer's new x of a kind of node is multiplied by: 0 with probability rate, else
// 1/(1 − rate). dst is [rows, hidden]. Engines call it, so that all drop the same.
func DropoutMask(dst []float32, key rng.Key, layer, kind int, rate float64) {
	k, keep := key.With(uint64(layer)).With(uint64(kind)), float32(1/(1-rate))
	for i := range dst {
		dst[i] = 0
		if k.With(uint64(i)).Float64() >= rate {
			dst[i] = keep
		}
	}
}
