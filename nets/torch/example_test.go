//go:build libtorch

package torch_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/torch"
)

// One linear layer for one agent: the forward pass, and the gradients w.r.t. parameters and input.
func ExampleNew() {
	e, err := torch.New(torch.Options{Device: "cpu", Threads: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := e.NewNet(nets.MLP{Agents: 1, In: []nets.Port{{Name: "x", Width: 2}}, Out: 1, Activation: nets.ReLU})
	if err != nil {
		fmt.Println(err)
		return
	}
	n.Params().Set([]float32{2, 3, 10}) // y = 2x₁ + 3x₂ + 10
	x, g := e.NewTensor(1, 1, 2), e.NewTensor(1, 1, 1)
	x.Set([]float32{1, 5})
	g.Set([]float32{1})

	w := n.NewWork(1)
	var y [1]float32
	n.Forward(w, x).Get(y[:])
	n.Backward(w, g, nets.Both)
	var byParams [3]float32
	n.Grads().Get(byParams[:])
	var byInput [2]float32
	w.GradIn(0).Get(byInput[:])
	fmt.Println(y, byParams, byInput, e.Err())
	fmt.Println(e.Close())
	// Output:
	// [27] [1 5 1] [2 3] <nil>
	// <nil>
}
