package netstest

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// GraphSubject is a network over graphs with drawn parameters, batch, heads' inputs and gradients w.r.t. their outputs.
type GraphSubject struct {
	Engine nets.Engine
	Net    nets.GraphNet
	Work   nets.GraphWork
	Batch  *nets.GraphBatch
	In     []HeadInput
	// By holds for each head the objective's gradient w.r.t. its output: the objective is Σ by·out over all heads.
	By   [][]float64
	Drop *rng.Key
}

// NewGraphSubject draws a case on an engine, the same for the same seed: all drawn numbers are float32.
func NewGraphSubject(e nets.Engine, c GraphCase, seed uint64) (*GraphSubject, error) {
	n, err := e.NewGraphNet(c.Arch)
	if err != nil {
		return nil, err
	}
	x := &GraphSubject{Engine: e, Net: n, Work: n.NewWork()}
	if x.Batch, err = c.Batch(seed); err != nil {
		return nil, err
	}
	x.In = c.Inputs(x.Batch, seed)
	key := rng.New(seed, "graph subject")
	if c.Drop {
		x.Drop = new(key.With(1))
	}
	// A little more than what learning begins with, so that LayerNorm's gain and offset are not all alike.
	s, p := key.With(2).Stream(), nets.InitialParams(c.Arch, key)
	for i := range p {
		p[i] += float32(0.2 * s.Norm())
	}
	n.Params().Set(p)
	for h, head := range c.Arch.Heads {
		rows := x.Batch.Graphs()
		if head.Per != nets.WholeGraph {
			rows = x.Batch.Nodes[head.Per].Rows()
		}
		by := make([]float64, rows*head.Out)
		s := key.With(3).With(uint64(h)).Stream()
		for i := range by {
			by[i] = float64(float32(s.Norm()))
		}
		x.By = append(x.By, by)
	}
	return x, e.Err()
}

// Forward runs the net and all its heads and returns their results.
func (x *GraphSubject) Forward() [][]float64 {
	x.Net.Forward(x.Work, x.Batch, x.Drop)
	var out [][]float64
	for h, in := range x.In {
		out = append(out, numbers(x.Net.Head(x.Work, h, in.Given, in.Extra)))
	}
	return out
}

// Objective is Σ by·out over all heads.
func (x *GraphSubject) Objective() float64 {
	sum := 0.0
	for h, out := range x.Forward() {
		for i, v := range out {
			sum += v * x.By[h][i]
		}
	}
	return sum
}

// Backward sets the gradients w.r.t. the heads' results, as they stand after Forward, and returns those w.r.t. the
// parameters.
func (x *GraphSubject) Backward() []float64 {
	for h, by := range x.By {
		x.Work.GradOut(h).Set64(by)
	}
	x.Net.ZeroGrads()
	x.Net.Backward(x.Work)
	return numbers(x.Net.Grads())
}

// GraphResult is what a network over graphs gives for a case, for agreement between engines.
type GraphResult struct {
	Heads, Embeddings [][]float64
	Pooled            []float64
	Grads             []float64
	// Params are those after one step of Adam at rate 1e-4.
	Params []float64
}

// RunGraph runs a case forward and backward on an engine and makes a step of Adam.
func RunGraph(e nets.Engine, c GraphCase, seed uint64) (r GraphResult, err error) {
	x, err := NewGraphSubject(e, c, seed)
	if err != nil {
		return r, err
	}
	r.Heads = x.Forward()
	for k := range c.Arch.Nodes {
		r.Embeddings = append(r.Embeddings, numbers(x.Work.Embedding(k)))
	}
	r.Pooled = numbers(x.Work.Pooled())
	r.Grads = x.Backward()
	o, err := e.NewAdam(x.Net, nets.Adam{Rate: GraphRate})
	if err != nil {
		return r, err
	}
	o.Advance()
	o.Step()
	r.Params = numbers(x.Net.Params())
	return r, e.Err()
}

// GraphRate is RunGraph's learning rate.
const GraphRate = 1e-4

// Apart says how far two results are from each other: what was computed and its gradients in parts of the
// largest number of their kind, parameters in steps of the learning rate. Where a gradient is nothing but
// rounding, Adam still makes a step: those parameters don't count.
func (r GraphResult) Apart(from GraphResult) (values, grads, params float64) {
	largest := func(x []float64) float64 {
		m := 1e-3
		for _, v := range x {
			m = max(m, math.Abs(v))
		}
		return m
	}
	far := func(x, y []float64) float64 {
		if len(x) != len(y) {
			return math.Inf(1)
		}
		d := 0.0
		for i := range x {
			d = max(d, math.Abs(x[i]-y[i]))
		}
		return d / largest(y)
	}
	lists := func(x, y [][]float64) {
		if len(x) != len(y) {
			values = math.Inf(1)
			return
		}
		for i := range x {
			values = max(values, far(x[i], y[i]))
		}
	}
	lists(r.Heads, from.Heads)
	lists(r.Embeddings, from.Embeddings)
	values = max(values, far(r.Pooled, from.Pooled))
	grads = far(r.Grads, from.Grads)
	floor := 1e-5 * largest(from.Grads)
	for i, p := range from.Params {
		if math.Abs(from.Grads[i]) > floor {
			params = max(params, math.Abs(r.Params[i]-p)/GraphRate)
		}
	}
	return values, grads, params
}

// GraphGradients is [Gradients] for networks over graphs: by all parameters of all cases of [Graphs] that are
// not large, through all heads at once and through the last alone. ReLU bends at 0: where a difference and the
// gradient are apart, shorter steps are tried, since a bend that the longer ones crossed then lies outside; a
// wrong gradient is wrong at all of them.
func GraphGradients(e nets.Engine) ([]Gradient, error) {
	if d := e.Info().DType; d != nets.Float64.String() {
		return nil, fmt.Errorf("netstest: the engine computes in %s, want %v", d, nets.Float64)
	}
	var all []Gradient
	cases := Graphs()
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		if cases[name].Large {
			continue
		}
		for seed := range uint64(2) {
			x, err := NewGraphSubject(e, cases[name], seed)
			if err != nil {
				return nil, fmt.Errorf("netstest: %s: %w", name, err)
			}
			if seed == 1 { // the last head alone
				for h := range x.By[:len(x.By)-1] {
					clear(x.By[h])
				}
			}
			x.Forward()
			g := x.Backward()
			all = append(all, bent(fmt.Sprintf("graph: %s, seed %d", name, seed), g, x.Net.Params(), x.Objective))
			if err := e.Err(); err != nil {
				return nil, fmt.Errorf("netstest: %s: %w", name, err)
			}
		}
	}
	return all, nil
}

// bent compares a gradient with differences of a function that has bends.
func bent(of string, got []float64, t nets.Tensor, f func() float64) Gradient {
	g := Gradient{Of: of, By: "parameters", N: len(got)}
	scale := 1e-3
	for _, v := range got {
		scale = max(scale, math.Abs(v)) // NaN stays
	}
	x := numbers(t)
	for i, v := range got {
		off := math.Inf(1)
		for h := 5e-5; h > 1e-7 && !(off <= 1e-9); h /= 10 {
			off = min(off, math.Abs(differenceAt(t, x, i, h, f)-v)/scale)
		}
		g.Error = max(g.Error, off)
	}
	t.Set64(x)
	return g
}
