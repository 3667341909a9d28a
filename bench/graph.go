package bench

import (
	"cmp"
	"errors"
	"math"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// graphFeatures is how many features a node has, in the PyTorch Geometric peer too.
const graphFeatures = 16

// Kinds of nodes in graphPolicy.
const functionNode, resourceNode, invocationNode = 0, 1, 2

// graphPolicy is the peer's network: three kinds of nodes and four of edges, two layers of attention with skip
// connections and layer norm, a score per invocation over [x, g] and a value over g.
func graphPolicy(hidden int) nets.Graph {
	return nets.Graph{
		Nodes: []nets.GraphNodes{{Name: "function", Width: graphFeatures}, {Name: "resource", Width: graphFeatures},
			{Name: "invocation", Width: graphFeatures}},
		Edges: []nets.GraphEdges{
			{Name: "dependency", From: functionNode, To: functionNode},
			{Name: "allocation", From: invocationNode, To: resourceNode},
			{Name: "temporal", From: invocationNode, To: invocationNode},
			{Name: "sharing", From: resourceNode, To: invocationNode},
		},
		Hidden: hidden, Layers: 2, Skip: true, Norm: nets.LayerNorm,
		Heads: []nets.GraphHead{{Name: "score", Per: invocationNode, Out: 1}, {Name: "value", Per: nets.WholeGraph, Out: 1}},
	}
}

// randomGraph is the peer's graph. It has one node per eight edges: a quarter of the nodes are functions, a sixteenth
// resources, the rest invocations. Edges are split equally over the kinds and join any two nodes.
func randomGraph(a nets.Graph, edges int) (*nets.GraphBatch, error) {
	b, s := nets.NewGraphBatch(a), rng.NewStream(1, "bench graph")
	n := max(16, edges/8)
	size := [3]int{functionNode: n / 4, resourceNode: max(2, n/16)}
	size[invocationNode] = n - size[functionNode] - size[resourceNode]
	b.AddGraph()
	for k, rows := range size {
		x := make([]float32, rows*graphFeatures)
		for i := range x {
			x[i] = float32(s.Norm())
		}
		if err := b.AddNodes(k, x); err != nil {
			return nil, err
		}
	}
	from, to := make([]int32, edges/4), make([]int32, edges/4)
	for k, e := range a.Edges {
		for i := range from {
			from[i], to[i] = int32(s.IntN(size[e.From])), int32(s.IntN(size[e.To]))
		}
		if err := b.AddEdges(k, from, to, nil); err != nil {
			return nil, err
		}
	}
	b.Seal()
	return b, nil
}

// graphRun holds the policy, its optimiser and the buffers for one graph.
type graphRun struct {
	e     nets.Engine
	net   nets.GraphNet
	work  nets.GraphWork
	batch *nets.GraphBatch
	adam  nets.Optimizer
	s, g  []float32 // scores, and the loss's gradient with respect to them
	v     []float32 // the value, then the loss's gradient with respect to it
	act   int       // the chosen invocation
}

func newGraphRun(e nets.Engine, hidden, edges int) (*graphRun, error) {
	a := graphPolicy(hidden)
	r := &graphRun{e: e}
	var err error
	if r.net, err = e.NewGraphNet(a); err != nil {
		return nil, err
	}
	r.net.Params().Set(nets.InitialParams(a, rng.New(1, "bench")))
	if r.adam, err = e.NewAdam(r.net, nets.Adam{Rate: 1e-4}); err != nil {
		return nil, err
	}
	if r.batch, err = randomGraph(a, edges); err != nil {
		return nil, err
	}
	r.work, r.v = r.net.NewWork(), make([]float32, 1)
	r.s = make([]float32, r.batch.Nodes[invocationNode].Rows())
	r.g = make([]float32, len(r.s))
	r.act = rng.New(1, "bench act").IntN(len(r.s))
	return r, e.Err()
}

// infer computes all scores and the value.
func (r *graphRun) infer() error {
	r.net.Forward(r.work, r.batch, nil)
	r.net.Head(r.work, 0, nil, nil).Get(r.s)
	r.net.Head(r.work, 1, nil, nil).Get(r.v)
	return r.e.Err()
}

// step is one training step: the loss −log softmax(scores)[act] + (value − 1)², backward, Adam.
func (r *graphRun) step() error {
	if err := r.infer(); err != nil {
		return err
	}
	top, sum := r.s[0], 0.0
	for _, x := range r.s {
		top = max(top, x)
	}
	for _, x := range r.s {
		sum += math.Exp(float64(x - top))
	}
	for i, x := range r.s {
		r.g[i] = float32(math.Exp(float64(x-top)) / sum)
	}
	r.g[r.act]--
	r.work.GradOut(0).Set(r.g)
	r.v[0] = 2 * (r.v[0] - 1)
	r.work.GradOut(1).Set(r.v)
	r.net.ZeroGrads()
	r.net.Backward(r.work)
	r.adam.Advance()
	r.adam.Step()
	return r.e.Err()
}

// graph measures inference and a training step of the policy on a random graph. Each has its own Work, since a backward
// pass makes a Work larger.
func (o Options) graph(e nets.Engine, edges, hidden int) (Result, error) {
	r, err := newGraphRun(e, hidden, edges)
	if err != nil {
		return Result{}, err
	}
	inference, err := o.measure(r.infer)
	if err != nil {
		return Result{}, err
	}
	r.work = r.net.NewWork()
	step, err := o.measure(r.step)
	if err := errors.Join(err, e.Err()); err != nil {
		return Result{}, err
	}
	return o.fill(Result{
		Bench: "graph", Edges: edges, Hidden: hidden, InferenceSeconds: inference.Nanoseconds / 1e9,
		StepSeconds: step.Nanoseconds / 1e9,
	}.of(e.Info()), step), nil
}

// runGraph measures the policy for each number of edges.
func runGraph(o Options, emit func(Result)) error {
	hidden := cmp.Or(o.Hidden, 64)
	for _, edges := range orDefault(o.Edges, 1_000, 10_000, 100_000, 1_000_000) {
		err := o.each(func(e nets.Engine, i nets.Info) error {
			r, err := o.graph(e, edges, hidden)
			if err == nil {
				emit(r.of(i))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
