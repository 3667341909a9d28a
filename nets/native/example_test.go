package native_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
)

// An engine reports the first failure, with the operation and the shapes.
func ExampleNew() {
	e := native.New(native.Options{DType: nets.Float64})
	x, y := e.NewTensor(2, 3), e.NewTensor(3, 2)
	e.Copy(x, y)
	e.Add(x, 1, x) // does nothing
	fmt.Println(e.Err())
	fmt.Println(e.Err())
	// Output:
	// nets/native: Copy: source has shape [3 2], want [2 3]
	// <nil>
}
