package gorgonia_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/gorgonia"
)

// A network's gradient, as gorgonia derives it.
func Example() {
	e, err := gorgonia.New(gorgonia.Options{DType: nets.Float64})
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := e.NewNet(nets.MLP{Agents: 1, In: []nets.Port{{Name: "x", Width: 2}}, Out: 1, Activation: nets.ReLU})
	if err != nil {
		fmt.Println(err)
		return
	}
	n.Params().Set64([]float64{3, 4, 5}) // y = 3x₁ + 4x₂ + 5
	x, g := e.NewTensor(1, 1, 2), e.NewTensor(1, 1, 1)
	x.Set64([]float64{1, 2})
	g.Set64([]float64{1})
	w := n.NewWork(1)
	n.Forward(w, x)
	n.Backward(w, g, nets.Both)
	params, input := make([]float64, 3), make([]float64, 2)
	n.Grads().Get64(params)
	w.GradIn(0).Get64(input)
	fmt.Println(params, input, e.Err())
	// Output: [1 2 1] [3 4] <nil>
}
