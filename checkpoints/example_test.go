package checkpoints_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/safetensors"
)

// A run saves a checkpoint, makes it the latest, and finds it again.
func Example() {
	run, err := os.MkdirTemp("", "run")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(run)
	if err := saveOnce(run); err != nil {
		fmt.Println(err)
		return
	}

	dir, err := checkpoints.Find(durable.OS{}, run, checkpoints.Latest)
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := checkpoints.Open(dir) // every byte is verified here
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := c.Tensors(checkpoints.WeightsFile)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Name(), c.Header().Counters["steps"], f.Names())
	// Output: step-000000001000 1000 [actor]
}

func saveOnce(run string) error {
	lock, err := durable.AcquireLock(filepath.Join(run, checkpoints.LockFile))
	if err != nil {
		return err
	}
	defer lock.Release()
	store, err := checkpoints.OpenStore(durable.OS{}, filepath.Join(run, checkpoints.CheckpointsDir))
	if err != nil {
		return err
	}
	w, err := store.Create(checkpoints.StepName(1000), checkpoints.Header{
		Kind:      checkpoints.Full,
		CreatedBy: "an example",
		Kernels:   "native/go",
		Config:    json.RawMessage(`{"env":"stoker/Sizing-v2"}`),
		Counters:  map[string]int64{"steps": 1000},
	})
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := w.Tensors(checkpoints.WeightsFile, nil, safetensors.Of("actor", []float32{1, 2}, 2)); err != nil {
		return err
	}
	c, err := w.Commit()
	if err != nil {
		return err
	}
	return store.Publish(c, true, 3)
}

// A report says what was verified.
func ExampleCheck() {
	r, err := checkpoints.Check("testdata/policy")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r)
	// Output:
	// ok       weights.safetensors: 2 tensors, 6 numbers
	// ok       checkpoint: 1 file(s), 168 bytes, every hash agrees
	// ok       manifest.json: policy, version 2, made by stoker test, kernels native/go, steps 7
	// testdata/policy (policy): sound
}
