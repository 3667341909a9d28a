package nets_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// A network learns exclusive or: describe it, build it on an engine, record its update, run it.
func Example() {
	e := native.New(native.Options{})
	arch := nets.MLP{Agents: 1, In: []nets.Port{{Name: "bits", Width: 2}}, Hidden: []int{8}, Out: 1,
		Activation: nets.Tanh, Final: nets.Sigmoid}
	n, err := e.NewNet(arch)
	if err != nil {
		fmt.Println(err)
		return
	}
	n.Params().Set(nets.InitialParams(arch, rng.New(1, "example")))
	adam, err := e.NewAdam(n, nets.Adam{Rate: 0.05, Clip: 1})
	if err != nil {
		fmt.Println(err)
		return
	}

	x, y := e.NewTensor(1, 4, 2), e.NewTensor(1, 4, 1)
	x.Set([]float32{0, 0, 0, 1, 1, 0, 1, 1})
	y.Set([]float32{0, 1, 1, 0})
	w, value, grad := n.NewWork(4), e.NewTensor(1), e.NewTensor(1, 4, 1)
	update := e.Record("fit", func() {
		out := n.Forward(w, x)
		e.Loss(nets.SquaredError{}, value, grad, out, y)
		n.ZeroGrads()
		n.Backward(w, grad, nets.Params)
		adam.Step()
	})
	for range 300 {
		adam.Advance()
		if err := update.Run(); err != nil {
			fmt.Println(err)
			return
		}
	}

	out := make([]float32, 4)
	n.Forward(w, x).Get(out)
	fmt.Printf("%.0f\n", out)
	// Output: [0 1 1 0]
}

// A checkpoint keeps the description beside the weights.
func ExampleEncodeArch() {
	head := nets.GumbelSoftmax{Agents: 3, Segments: []int{5, 2}, Temperature: 1}
	b, err := nets.EncodeArch(head)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(b))
	back, err := nets.DecodeArch(b)
	fmt.Println(back.Output().Width, err)
	// Output:
	// {"kind":"gumbel-softmax","arch":{"agents":3,"segments":[5,2],"temperature":1}}
	// 7 <nil>
}
