// Package learning holds the pieces that every update rule needs: networks, optimisers, passes and losses on an engine
// ([Builder]), the discount of a step ([Discount]), a linear schedule ([Linear]), a step of an optimiser ([Step]),
// copying parameters to the network that acts ([CopyParams]), and reading sums that an engine has added up ([TakeMean]).
//
// Not here: update rules (agents/dqn, agents/maddpg, agents/reinforce), and networks over choices or graphs
// (agents/choice, agents/graphs).
package learning

import (
	"errors"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// Pass is a network with buffers for one forward and backward pass of a minibatch. It reuses the list of inputs, so
// that a call does not allocate.
type Pass struct {
	Net  nets.Net
	Work nets.Work
	in   [4]nets.Tensor
}

// NewPass returns buffers for rows at a time.
func NewPass(n nets.Net, rows int) Pass { return Pass{Net: n, Work: n.NewWork(rows)} }

// Forward runs the network on its inputs.
func (p *Pass) Forward(in ...nets.Tensor) nets.Tensor {
	n := copy(p.in[:], in)
	return p.Net.Forward(p.Work, p.in[:n]...)
}

// Backward takes the gradient of the last Forward's output.
func (p *Pass) Backward(grad nets.Tensor, wrt nets.Wrt) { p.Net.Backward(p.Work, grad, wrt) }

// Loss is a named loss with its value for each agent.
type Loss struct {
	Value nets.Tensor // [agents]

	e    nets.Engine
	fn   nets.Loss
	args [2]nets.Tensor
}

// Gradient writes the gradient with respect to the first of args.
func (l *Loss) Gradient(grad nets.Tensor, args ...nets.Tensor) {
	n := copy(l.args[:], args)
	l.e.Loss(l.fn, l.Value, grad, l.args[:n]...)
}

// Builder makes an update's parts on an engine and remembers the first error.
type Builder struct {
	Engine nets.Engine
	// Agents is the leading dimension, Batch the number of rows of a minibatch.
	Agents, Batch int
	Err           error
}

// Net builds a network.
func (b *Builder) Net(a nets.Arch) nets.Net {
	if b.Err != nil {
		return nil
	}
	if b.Err = a.Validate(); b.Err != nil {
		return nil
	}
	n, err := b.Engine.NewNet(a)
	b.Err = err
	return n
}

// Drawn builds a network with initial weights that follow from key.
func (b *Builder) Drawn(a nets.Arch, key rng.Key) nets.Net {
	n := b.Net(a)
	if b.Err == nil {
		n.Params().Set(nets.InitialParams(a, key))
	}
	return n
}

// Copied builds a network that begins with the weights of another, such as a target network.
func (b *Builder) Copied(a nets.Arch, from nets.Net) nets.Net {
	n := b.Net(a)
	if b.Err == nil {
		b.Engine.Copy(n.Params(), from.Params())
	}
	return n
}

// Adam builds the optimiser of a network.
func (b *Builder) Adam(n nets.Net, c nets.Adam) nets.Optimizer {
	if b.Err != nil {
		return nil
	}
	o, err := b.Engine.NewAdam(n, c)
	b.Err = err
	return o
}

// Pass makes the buffers of a pass.
func (b *Builder) Pass(n nets.Net) Pass {
	if b.Err != nil {
		return Pass{}
	}
	return NewPass(n, b.Batch)
}

// Loss makes the value of a loss.
func (b *Builder) Loss(l nets.Loss) Loss {
	return Loss{e: b.Engine, fn: l, Value: b.Engine.NewTensor(b.Agents)}
}

// Tensor is [agents, batch, width].
func (b *Builder) Tensor(width int) nets.Tensor { return b.Engine.NewTensor(b.Agents, b.Batch, width) }

// Discount is γ for a step of elapsed microseconds: Gamma or, where Seconds is positive, Gamma^(elapsed/Seconds).
type Discount struct{ Gamma, Seconds float64 }

// Of returns it; 0 where the episode terminated. A truncated episode bootstraps from its value.
func (d Discount) Of(terminated bool, elapsed int64) float64 {
	switch {
	case terminated:
		return 0
	case d.Seconds > 0:
		return math.Pow(d.Gamma, float64(elapsed)/1e6/d.Seconds)
	}
	return d.Gamma
}

// Linear is a value that goes from first to last over a number of steps, and stays there.
func Linear(first, last, step, over float64) float64 {
	if step >= over {
		return last
	}
	return first + float64(step/over*(last-first))
}

// parameters are what a network of either form has.
type parameters interface{ Params() nets.Tensor }

// CopyParams copies the parameters of a net on engine train to those of one on engine act, which may be the same
// engine. Where they differ the numbers pass through buf.
func CopyParams(train nets.Engine, from parameters, act nets.Engine, to parameters, buf []float32) error {
	if train == act {
		act.Copy(to.Params(), from.Params())
	} else {
		from.Params().Get(buf)
		to.Params().Set(buf)
	}
	if err := errors.Join(train.Err(), act.Err()); err != nil {
		return fmt.Errorf("copying the weights to act with: %w", err)
	}
	return nil
}

// Step takes the optimiser's step along the present gradient, and returns the gradient's norm before clipping, the mean
// over agents.
func Step(o nets.Optimizer) float64 {
	o.Advance()
	o.Step()
	return Norm(o, make([]float32, nets.Size(o.Norms())))
}

// Norm is the norm of the gradient of an optimiser's last step before clipping, the mean over agents. buf has a number
// for each.
func Norm(o nets.Optimizer, buf []float32) float64 {
	o.Norms().Get(buf)
	var sum float64
	for _, x := range buf {
		sum += float64(x)
	}
	return sum / float64(len(buf))
}

// TakeMean returns the mean of a tensor's numbers, each a sum over n updates, per update, and sets them to 0.
func TakeMean(sum nets.Tensor, n int64) float64 {
	x := make([]float32, nets.Size(sum))
	sum.Get(x)
	var total float64
	for _, v := range x {
		total += float64(v)
	}
	clear(x)
	sum.Set(x)
	return total / float64(len(x)) / float64(n)
}
