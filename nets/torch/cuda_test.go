//go:build libtorch

package torch

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/nets"
)

// TestCUDA runs in a process of its own: libtorch counts its devices when it first differentiates, which other tests
// have done.
func TestCUDA(t *testing.T) {
	const mark = "STOKER_TEST_CUDA"
	if os.Getenv(mark) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCUDA$", "-test.v")
		cmd.Env = append(os.Environ(), mark+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "cuda_test.go") {
				t.Log(strings.TrimSpace(line))
			}
		}
		return
	}
	gpu, err := New(Options{Device: "cuda:0"})
	if err != nil {
		// Without a GPU the error gives the reason: the CUDA wheels are missing, or there is no driver.
		for _, reason := range []string{"CUDA half cannot be opened", "finds no CUDA device"} {
			if strings.Contains(err.Error(), reason) {
				t.Logf("no GPU: %v", err)
				return
			}
		}
		t.Fatal(err)
	}
	cpu := newEngine(t, nets.Float32)
	on, off := newToy(t, gpu, 3, 32), newToy(t, cpu, 3, 32)
	for _, u := range []*toyUpdate{on, off} {
		u.advance()
		u.run()
		ok(t, u.e)
	}
	near(t, "gradients", values(on.critic.Grads()), values(off.critic.Grads()), 1e-4)
	near(t, "parameters", values(on.actor.Params()), values(off.actor.Params()), 1e-2)
	if err := gpu.Close(); err != nil {
		t.Error(err)
	}
	t.Logf("ran on %v", gpu.Info())
}
