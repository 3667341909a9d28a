package learning

import (
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
