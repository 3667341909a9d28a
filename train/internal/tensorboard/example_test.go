package tensorboard_test

import (
	"fmt"
	"os"

	"github.com/stoker-rl/stoker/train/internal/tensorboard"
	"github.com/stoker-rl/stoker/train/internal/tensorboard/eventtest"
)

func Example() {
	dir, err := os.MkdirTemp("", "events")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	w, err := tensorboard.New(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	for step := range int64(3) {
		if err := w.Scalar("rollout/ep_rew_mean", step, float64(step)/2); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
		return
	}

	curves, err := eventtest.Scalars(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range curves["rollout/ep_rew_mean"] {
		fmt.Println(p.Step, p.Value)
	}
	// Output:
	// 0 0
	// 1 0.5
	// 2 1
}
