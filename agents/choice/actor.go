package choice

import (
	"github.com/stoker-rl/stoker/agents/learning"
	"github.com/stoker-rl/stoker/nets"
)

// Actor runs a network that acts, for a fixed number of rows. It does not allocate once made.
type Actor struct {
	e    nets.Engine
	Net  nets.Net
	pass Pass
	seen nets.Tensor // [1, rows, obs]
	Out  []float32   // [rows, N] of the last Run
}

// NewActor returns memory to act for rows agents together on engine e.
func NewActor(e nets.Engine, net nets.Net, rows int) (*Actor, error) {
	obs, n := net.Arch().Inputs()[0].Width, net.Arch().Output().Width
	a := &Actor{e: e, Net: net, pass: NewPass(net, rows), seen: e.NewTensor(1, rows, obs), Out: make([]float32, rows*n)}
	a.net() // makes the engine's memory before the first step
	return a, e.Err()
}

// Run fills Out from observations, [rows, obs].
func (a *Actor) Run(seen []float32) error {
	a.seen.Set(seen)
	a.net()
	return a.e.Err()
}

func (a *Actor) net() { a.pass.Forward(a.seen).Get(a.Out) }

// Row returns row i of Out.
func (a *Actor) Row(i int) []float32 {
	n := a.Net.Arch().Output().Width
	return a.Out[i*n : (i+1)*n]
}

// Sync copies the parameters of a net on engine train to the one that acts, by way of buf where the engines differ.
func (a *Actor) Sync(train nets.Engine, from nets.Net, buf []float32) error {
	return learning.CopyParams(train, from, a.e, a.Net, buf)
}
