package bench

import (
	"cmp"
	"errors"
	"math"

	"github.com/stoker-rl/stoker/agents/maddpg"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/nets/native/kernel"
	"github.com/stoker-rl/stoker/rng"
)

// Sizes of the update measured: FaaSConf's, as in the PyTorch peer.
const (
	stateWidth  = 10
	actionWidth = 4
	meanDegree  = 4 // of the random neighbourhood
)

// runUpdate measures whole updates at every combination of agents and batch.
func runUpdate(o Options, emit func(Result)) error {
	for _, n := range orDefault(o.Agents, 5, 12, 50, 200, 1000) {
		for _, b := range orDefault(o.Batch, 64, 1024) {
			err := o.each(func(e nets.Engine, i nets.Info) error {
				c := maddpg.Default()
				c.Batch, c.Clip, c.LogitPenalty = b, 0, 0
				c.Replay = max(c.Replay, b)
				run, err := maddpg.Updater(c, sizedSpec(n, o.Dense), e)
				if err != nil {
					return err
				}
				s, err := o.measure(run)
				if err != nil {
					return err
				}
				r := Result{Bench: "attmf", Agents: n, Batch: b, Neighbours: "sparse", UpdatesPerSecond: s.perSecond()}.of(i)
				if o.Dense {
					r.Neighbours = "dense"
				}
				emit(o.fill(r, s))
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// sizedSpec is a problem of n agents, each with about meanDegree random neighbours or, where dense, with all.
func sizedSpec(n int, dense bool) *envs.Spec {
	k := envs.Kind{Name: "agent", Agents: n, Observation: envs.Unbounded(stateWidth),
		Action: envs.NewBox(actionWidth, 0, 1), Neighbours: make([][]int, n)}
	s := rng.NewStream(1, "neighbourhood")
	for i := range n {
		for j := range n {
			if dense || j == (i+n-1)%n || s.Float64() < float64(meanDegree)/float64(n) {
				k.Neighbours[i] = append(k.Neighbours[i], j)
			}
		}
	}
	return &envs.Spec{ID: "bench", Kinds: []envs.Kind{k}}
}

// runForward measures acting.
func runForward(o Options, emit func(Result)) error {
	return o.each(func(e nets.Engine, i nets.Info) error {
		a := nets.MLP{Agents: 1, In: []nets.Port{{Name: "x", Width: 64}}, Hidden: []int{128, 128}, Out: 8,
			Activation: nets.ReLU}
		net, err := e.NewNet(a)
		if err != nil {
			return err
		}
		net.Params().Set(nets.InitialParams(a, rng.New(1, "bench")))
		w, in, x, y := net.NewWork(1), []nets.Tensor{e.NewTensor(1, 1, 64)}, make([]float32, 64), make([]float32, 8)
		s, err := o.measure(func() error {
			in[0].Set(x)
			net.Forward(w, in...).Get(y)
			return nil
		})
		if err := errors.Join(err, e.Err()); err != nil {
			return err
		}
		emit(o.fill(Result{Bench: "forward", Batch: 1, What: "64-128-128-8"}.of(i), s))
		return nil
	})
}

// runOp measures one small operation of libtorch: the cost of a call from Go.
func runOp(o Options, emit func(Result)) error {
	o.Engine, o.Kernels = engines.Torch, nil
	return o.each(func(e nets.Engine, i nets.Info) error {
		a, b := e.NewTensor(8), e.NewTensor(8)
		s, err := o.measure(func() error {
			e.Add(a, 1, b)
			return nil
		})
		if err := errors.Join(err, e.Err()); err != nil {
			return err
		}
		emit(o.fill(Result{Bench: "op", What: "add of 8 numbers, in place"}.of(i), s))
		return nil
	})
}

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
		x := lists.Make(rows*graphFeatures, func(int) float32 { return float32(s.Norm()) })
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

// kernelNames lists the kernels that this processor runs.
func kernelNames() []string {
	var out []string
	for _, n := range []string{"avx512", "avx2", "go"} {
		if _, err := kernel.Named(n); err == nil {
			out = append(out, n)
		}
	}
	return out
}

func numbers(n int) []float32 {
	s, out := rng.NewStream(1, "bench product"), make([]float32, n)
	for i := range out {
		out[i] = float32(s.Float64()) - 0.5
	}
	return out
}
