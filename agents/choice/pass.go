package choice

import "github.com/stoker-rl/stoker/nets"

// Pass is a net of one input with memory for a batch of rows. It reuses the list of inputs, so that a call does not
// allocate.
type Pass struct {
	Net  nets.Net
	Work nets.Work
	in   [1]nets.Tensor
}

// NewPass returns memory for rows at a time.
func NewPass(net nets.Net, rows int) Pass { return Pass{Net: net, Work: net.NewWork(rows)} }

// Forward runs the net on s, [1, rows, width], and returns its output, which stays until the next call.
func (p *Pass) Forward(s nets.Tensor) nets.Tensor {
	p.in[0] = s
	return p.Net.Forward(p.Work, p.in[:]...)
}
