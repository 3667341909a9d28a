package engines

import (
	"fmt"
	"testing"
)

func TestAutoIsCareful(t *testing.T) {
	for _, c := range []struct {
		gpus   int
		size   Size
		device string
	}{
		{0, Size{1000, 1 << 20}, "cpu"},
		{1, Size{}, "cpu"},
		{1, Size{5, 1024}, "cpu"},
		{1, Size{200, 1024}, "cpu"},
		{1, Size{49, 1 << 20}, "cpu"},
		{1, Size{200, 2048}, "cuda:0"},
		{8, Size{1000, 1024}, "cuda:0"},
	} {
		name, device, why := Auto(c.gpus, c.size)
		if device != c.device || (name == Torch) != (device != "cpu") || why == "" {
			t.Errorf("%d GPUs, %+v: %s on %s because %s, want %s", c.gpus, c.size, name, device, why, c.device)
		}
	}
}

func ExampleAuto() {
	fmt.Println(Auto(0, Size{Agents: 12, Batch: 1024}))
	// Output: native cpu there is no GPU
}
