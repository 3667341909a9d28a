package safetensors_test

import (
	"bytes"
	"fmt"

	"github.com/stoker-rl/stoker/checkpoints/safetensors"
)

func Example() {
	weights := []float32{0.5, -1, 2, 0}
	var file bytes.Buffer
	err := safetensors.Write(&file, map[string]string{"architecture": "mlp"},
		safetensors.Of("actor.weight", weights, 2, 2),
		safetensors.Of("actor.steps", []int64{1000}))
	if err != nil {
		fmt.Println(err)
		return
	}

	f, err := safetensors.Parse(file.Bytes())
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := f.Tensor("actor.weight")
	if err != nil {
		fmt.Println(err)
		return
	}
	values, err := safetensors.Values[float32](w)
	fmt.Println(f.Names(), w.Shape, values, err)
	// Output: [actor.steps actor.weight] [2 2] [0.5 -1 2 0] <nil>
}
