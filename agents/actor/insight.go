package actor

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// insight gives a policy's outputs, their derivatives and its attention weights. Outputs are continuous actions in the
// environment's units, not rounded, or the scores of choices. All agents count as present.
type insight struct {
	*acting
	agent string
	rows  int
	grad  nets.Tensor // as the network gives outputs
	seen  []float32   // last observations, [rows, agents, width]
	out   []float32   // [rows, agents, outputs]
	slope []float32   // of each output by the network's own, as out
	dy    []float32   // [places, rows, outputs], as the network has them
	dx    []float32   // as Net.In
	by    []float32   // [rows, agents, width]
	all   []bool      // that every agent is present
	mix   *mixing     // nil without attention
}

var _ agents.Transparent = (*Policy)(nil)

// Insight implements [agents.Transparent].
func (p *Policy) Insight(act nets.Engine, rows int) (agents.Insight, error) {
	if rows < 1 || len(p.kinds) != 1 {
		return nil, fmt.Errorf("%s: insight: %d rows and %d kinds of agents, want at least 1 and one", p.File.Agent, rows,
			len(p.kinds))
	}
	on := p.kinds[0].kind
	a, err := p.kinds[0].again(p.File, act, rows)
	if err != nil {
		return nil, fmt.Errorf("%s: insight: %w", p.File.Agent, err)
	}
	n := rows * on.Agents
	x := &insight{
		acting: a, agent: p.File.Agent, rows: rows, out: make([]float32, len(a.net.out)),
		slope: make([]float32, len(a.net.out)), dy: make([]float32, len(a.net.out)), dx: make([]float32, len(a.net.In)),
		seen: make([]float32, n*on.Observation.Width()), by: make([]float32, n*on.Observation.Width()),
		all: slices.Repeat([]bool{true}, n),
	}
	shape := slices.Clone(a.net.in[0].Shape())
	shape[2] = len(a.net.out) / (shape[0] * shape[1])
	x.grad = act.NewTensor(shape...)
	if m, ok := a.net.Net.Arch().(nets.MeanField); ok && m.Mix == nets.Attention {
		params := make([]float32, nets.Size(a.net.Net.Params()))
		a.net.Net.Params().Get(params)
		x.mix = newMixing(m, params)
	}
	return x, act.Err()
}

// again builds what acts once more, on another engine and for other numbers of rows.
func (k *acting) again(f *agents.PolicyFile, act nets.Engine, rows int) (*acting, error) {
	spec := &envs.Spec{ID: f.EnvID, Kinds: []envs.Kind{*k.kind}}
	return k.desc.open(f, spec, 0, act, rows)
}

// Outputs implements [agents.Insight].
func (x *insight) Outputs() (out []agents.Output) {
	choices := envs.Choices(x.kind.Action)
	for i := range x.kind.Action.Width() {
		if x.kind.Action.MaskWidth() == 0 {
			out = append(out, agents.Output{Component: i, Choice: -1})
			continue
		}
		for k := range choices[i] {
			out = append(out, agents.Output{Component: i, Choice: k})
		}
	}
	return out
}

// Forward implements [agents.Insight].
func (x *insight) Forward(seen []float32) ([]float32, error) {
	if err := x.look(seen); err != nil {
		return nil, err
	}
	if err := x.net.Forward(); err != nil {
		return nil, fmt.Errorf("%s: insight: %w", x.agent, err)
	}
	n := x.net.outputs
	for r := range x.rows {
		for j := range x.kind.Agents {
			to := (r*x.kind.Agents + j) * n
			for i, y := range x.net.Row(r, j) {
				x.out[to+i], x.slope[to+i] = x.head.smooth(i, y)
			}
		}
	}
	return x.out, nil
}

// look checks observations [rows, agents, width] and writes them into the network's input.
func (x *insight) look(seen []float32) error {
	if len(seen) != len(x.seen) {
		return fmt.Errorf("%s: insight: the observations have %d numbers, want %d rows × %d agents × %d", x.agent, len(seen),
			x.rows, x.kind.Agents, x.kind.Observation.Width())
	}
	copy(x.seen, seen)
	x.net.See(seen, x.all)
	return nil
}

// Gradient implements [agents.Insight].
func (x *insight) Gradient(weights []float32) ([]float32, error) {
	if len(weights) != len(x.out) {
		return nil, fmt.Errorf("%s: insight: %d weights, want %d, one for each output", x.agent, len(weights), len(x.out))
	}
	n := x.net.outputs
	for r := range x.rows {
		for j := range x.kind.Agents {
			to, from := x.net.place(r, j)*n, (r*x.kind.Agents+j)*n
			for i, w := range weights[from : from+n] {
				x.dy[to+i] = w * x.slope[from+i]
			}
		}
	}
	x.grad.Set(x.dy)
	if err := x.net.backward(x.grad, x.dx); err != nil {
		return nil, fmt.Errorf("%s: insight: %w", x.agent, err)
	}
	for r := range x.rows {
		x.observed(r)
	}
	return x.by, nil
}

// observed writes the derivatives by what the agents of a row observe: each sees itself and, in the mean field, the mean
// of the others.
func (x *insight) observed(r int) {
	n, w, width := x.kind.Agents, x.kind.Observation.Width(), x.net.width
	for j := range n {
		copy(x.by[(r*n+j)*w:][:w], x.dx[x.net.place(r, j)*width:])
	}
	if x.net.field != nil && n > 1 {
		for i := range w {
			sum := 0.0
			for j := range n {
				sum += float64(x.dx[x.net.place(r, j)*width+w+i])
			}
			for j := range n {
				x.by[(r*n+j)*w+i] += float32((sum - float64(x.dx[x.net.place(r, j)*width+w+i])) / float64(n-1))
			}
		}
	}
	if norm := x.net.norm; norm != nil {
		for i := range n * w {
			at := r*n*w + i
			if s := norm.scaled(i/w, i%w, x.seen[at]); s < -norm.clip || s > norm.clip {
				x.by[at] = 0
			} else {
				x.by[at] *= norm.scale[i]
			}
		}
	}
}

// Attention implements [agents.Insight].
func (x *insight) Attention(seen []float32) ([]float32, error) {
	if x.mix == nil {
		return nil, nil
	}
	if err := x.look(seen); err != nil {
		return nil, err
	}
	return x.mix.weights(x.net.In, x.rows)
}
