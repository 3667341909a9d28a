package sac

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/nets"
)

// insight gives a policy's actions without noise, in the environment's units and not rounded, with their derivatives.
type insight struct {
	p      *problem
	acting *acting
	grad   nets.Tensor // by the squashed action, [agents, rows, act]
	out    []float32   // [rows, agents, act]
	dy     []float32   // as grad
	dx     []float32   // [agents, rows, obs]
	by     []float32   // [rows, agents, obs]
}

var _ agents.Transparent = (*TrainedPolicy)(nil)

// Insight implements [agents.Transparent].
func (p *TrainedPolicy) Insight(act nets.Engine, rows int) (agents.Insight, error) {
	if rows < 1 {
		return nil, fmt.Errorf("sac: insight: %d rows, want at least 1", rows)
	}
	net, err := openActor(p.File, p.acting.actor.Arch(), act)
	if err != nil {
		return nil, err
	}
	a, err := newActing(&p.prob, act, net, rows)
	if err != nil {
		return nil, err
	}
	return &insight{
		p: &p.prob, acting: a, grad: act.NewTensor(p.prob.agents, rows, p.prob.act), out: make([]float32, len(a.out)),
		dy: make([]float32, len(a.out)), dx: make([]float32, len(a.x)), by: make([]float32, len(a.x)),
	}, act.Err()
}

// Outputs implements [agents.Insight].
func (x *insight) Outputs() (out []agents.Output) {
	for i := range x.p.act {
		out = append(out, agents.Output{Component: i, Choice: -1})
	}
	return out
}

// half is half the range of number i of the actions of any row.
func (x *insight) half(i int) float32 { return (x.p.High[i%x.p.act] - x.p.Low[i%x.p.act]) / 2 }

// Forward implements [agents.Insight].
func (x *insight) Forward(seen []float32) ([]float32, error) {
	if len(seen) != len(x.by) {
		return nil, fmt.Errorf("sac: insight: the observations have %d numbers, want %d rows × %d agents × %d", len(seen),
			x.acting.rows, x.p.agents, x.p.obs)
	}
	x.acting.see(seen)
	if err := x.acting.run(); err != nil {
		return nil, fmt.Errorf("sac: insight: %w", err)
	}
	for i, u := range x.acting.out {
		x.out[i] = x.p.Low[i%x.p.act] + float32((u+1)*x.half(i))
	}
	return x.out, nil
}

// Gradient implements [agents.Insight].
func (x *insight) Gradient(weights []float32) ([]float32, error) {
	if len(weights) != len(x.out) {
		return nil, fmt.Errorf("sac: insight: %d weights, want %d, one for each output", len(weights), len(x.out))
	}
	a := x.acting
	transpose(x.dy, weights, a.rows, x.p.agents, x.p.act)
	for i := range x.dy {
		x.dy[i] *= x.half(i)
	}
	x.grad.Set(x.dy)
	a.last.backward(x.grad, nets.Inputs)
	a.actor.Backward(a.first, a.last.work.GradIn(momentsPort), nets.Inputs)
	a.first.GradIn(0).Get(x.dx)
	if err := a.e.Err(); err != nil {
		return nil, fmt.Errorf("sac: insight: %w", err)
	}
	transpose(x.by, x.dx, x.p.agents, a.rows, x.p.obs)
	return x.by, nil
}

// Attention implements [agents.Insight]: the policy has none.
func (x *insight) Attention([]float32) ([]float32, error) { return nil, nil }
