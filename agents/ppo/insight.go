package ppo

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// insight gives a policy's outputs and their derivatives. Outputs are the means of continuous actions within their
// bounds, not rounded, or the logits of choices. All agents count as present.
type insight struct {
	a     *actor
	rows  int
	grad  nets.Tensor
	out   []float32 // [rows, agents, outputs]
	slope []float32 // of each output by the network's own, as out
	dy    []float32 // [groups, rows, outputs], as the network has them
	dx    []float32 // [groups, rows, what is seen]
	by    []float32 // [rows, agents, observation]
	all   []bool    // that every agent is present
}

var _ agents.Transparent = (*Policy)(nil)

// Insight implements [agents.Transparent].
func (p *Policy) Insight(act nets.Engine, rows int) (agents.Insight, error) {
	if rows < 1 {
		return nil, fmt.Errorf("ppo: insight: %d rows, want at least 1", rows)
	}
	if len(p.kinds) != 1 {
		return nil, fmt.Errorf("ppo: insight: %d kinds of agents, want one", len(p.kinds))
	}
	from := p.kinds[0].actor
	mix := ""
	if from.field != nil {
		mix = Mean
	}
	a, err := newActor(from.kind, from.head, act, from.pass.Net.Arch(), mix, rows)
	if err != nil {
		return nil, err
	}
	if err := a.sync(from.e, from.pass.Net); err != nil {
		return nil, err
	}
	n, w := len(a.out), from.kind.Observation.Width()
	x := &insight{a: a, rows: rows, out: make([]float32, n), slope: make([]float32, n), dy: make([]float32, n),
		dx: make([]float32, rows*from.kind.Agents*a.obs), by: make([]float32, rows*from.kind.Agents*w),
		all: make([]bool, rows*from.kind.Agents)}
	x.grad = act.NewTensor(a.groups, rows*from.kind.Agents/a.groups, n/(rows*from.kind.Agents))
	for i := range x.all {
		x.all[i] = true
	}
	return x, act.Err()
}

// Outputs implements [agents.Insight].
func (x *insight) Outputs() (out []agents.Output) {
	c, ok := x.a.head.(*choices)
	if !ok {
		outputs, _, _ := x.a.head.sizes()
		for i := range outputs {
			out = append(out, agents.Output{Component: i, Choice: -1})
		}
		return out
	}
	for i, n := range c.n {
		for k := range n {
			out = append(out, agents.Output{Component: i, Choice: k})
		}
	}
	return out
}

// place is where the network has the numbers of an agent in a row, in units of an agent's numbers.
func (x *insight) place(row, agent int) int {
	if x.a.groups > 1 {
		return agent*x.rows + row
	}
	return row*x.a.kind.Agents + agent
}

// Forward implements [agents.Insight].
func (x *insight) Forward(seen []float32) ([]float32, error) {
	if len(seen) != len(x.by) {
		return nil, fmt.Errorf("ppo: insight: the observations have %d numbers, want %d", len(seen), len(x.by))
	}
	if err := x.a.run(&envs.KindObservation{Values: seen, Active: x.all}); err != nil {
		return nil, err
	}
	g, continuous := x.a.head.(*gaussian)
	n := len(x.out) / len(x.all)
	for r := range x.rows {
		for j := range x.a.kind.Agents {
			from, to := x.place(r, j)*n, (r*x.a.kind.Agents+j)*n
			for i, y := range x.a.out[from : from+n] {
				x.out[to+i], x.slope[to+i] = y, 1
				if continuous {
					x.out[to+i], x.slope[to+i] = g.smooth(i, float64(y))
				}
			}
		}
	}
	return x.out, nil
}

// smooth is what bounded makes of u before it rounds, and its derivative.
func (a *gaussian) smooth(i int, u float64) (value, slope float32) {
	low, high, d := float64(a.box.Low[i]), float64(a.box.High[i]), 1.0
	if !math.IsInf(low, 0) && !math.IsInf(high, 0) {
		d = (high - low) / 2
		if a.bounds == Squash {
			u = math.Tanh(u)
			d *= 1 - float64(u*u)
		}
		u = (low+high)/2 + float64(u*((high-low)/2))
	}
	if u < low || u > high {
		u, d = min(max(u, low), high), 0
	}
	return float32(u), float32(d)
}

// Gradient implements [agents.Insight].
func (x *insight) Gradient(weights []float32) ([]float32, error) {
	if len(weights) != len(x.out) {
		return nil, fmt.Errorf("ppo: insight: %d weights, want %d, one for each output", len(weights), len(x.out))
	}
	agents, n := x.a.kind.Agents, len(x.out)/len(x.all)
	for r := range x.rows {
		for j := range agents {
			to, from := x.place(r, j)*n, (r*agents+j)*n
			for i, w := range weights[from : from+n] {
				x.dy[to+i] = w * x.slope[from+i]
			}
		}
	}
	x.grad.Set(x.dy)
	x.a.pass.Net.Backward(x.a.pass.Work, x.grad, nets.Inputs)
	x.a.pass.Work.GradIn(0).Get(x.dx)
	if err := x.a.e.Err(); err != nil {
		return nil, err
	}
	for r := range x.rows {
		x.toObservations(r)
	}
	return x.by, nil
}

// toObservations writes the derivatives by what the agents of a row observe: each sees itself and, in the mean field, the
// mean of the others.
func (x *insight) toObservations(r int) {
	n, w, seen := x.a.kind.Agents, len(x.by)/len(x.all), x.a.obs
	for j := range n {
		copy(x.by[(r*n+j)*w:][:w], x.dx[x.place(r, j)*seen:])
	}
	if x.a.field == nil || n < 2 {
		return
	}
	for i := range w {
		sum := 0.0
		for j := range n {
			sum += float64(x.dx[x.place(r, j)*seen+w+i])
		}
		for j := range n {
			x.by[(r*n+j)*w+i] += float32((sum - float64(x.dx[x.place(r, j)*seen+w+i])) / float64(n-1))
		}
	}
}

// Attention implements [agents.Insight]: the policy has none.
func (x *insight) Attention([]float32) ([]float32, error) { return nil, nil }
