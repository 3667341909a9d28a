package libtorch_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/stoker-rl/stoker/nets/libtorch"
)

// What `stoker version` prints about libtorch.
func ExampleStatus() {
	report := libtorch.Status(context.Background(), libtorch.FromEnvironment("."))
	fmt.Println(strings.Join(report.Lines(), "\n"))
}

// What `stoker train --device cuda:0` does in the binary without cgo: it runs
// stoker-torch in its place, once that was found to be what make cuda left.
func ExamplePrepare() {
	binary, err := libtorch.FindBinary()
	if err != nil {
		fmt.Println(libtorch.Unavailable("--device cuda:0", err))
		return
	}
	launch, err := libtorch.Prepare(binary, []string{"train", "--device", "cuda:0"}, []string{"HOME=/home/me"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(launch.Exec())
}
