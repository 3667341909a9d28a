//go:build libtorch

package engines

import (
	"flag"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/tools/proof"
)

// device is where libtorch is held against the native engine: CUDA graphs are off in a process with
// STOKER_CUDA_GRAPH=off.
var device = flag.String("device", "", "compare libtorch on this device (cuda:0) with the native engine and with itself without graphs")

// TestCUDAAgreement holds libtorch on a GPU, with captured updates, against the native engine on the CPU, and
// captured updates against those that run operation by operation: STOKER_DEBUG=1 has an engine do that.
func TestCUDAAgreement(t *testing.T) {
	if *device == "" {
		t.Log("no -device: nothing is compared")
		return
	}
	on := func(debug string) nets.Engine {
		t.Setenv("STOKER_DEBUG", debug)
		e := must.Get(Open(Torch, Options{Device: *device, Deterministic: os.Getenv("CUBLAS_WORKSPACE_CONFIG") != ""}))(t)
		return e
	}
	captured, plain := on("0"), on("1")
	t.Setenv("STOKER_DEBUG", "0")
	reference := open(t, Native, nets.Float32)
	var worst, apart tolerance
	for name, s := range scenarios() {
		t.Run(name, func(t *testing.T) {
			d := agree(t, s.run(t, captured, 1)[0], s.run(t, reference, 1)[0], single)
			worst = tolerance{max(worst.gradient, d.gradient), max(worst.parameter, d.parameter)}
			agree(t, s.run(t, captured, 5)[0], s.run(t, reference, 5)[0], tolerance{math.Inf(1), 5 * single.parameter})
			d = agree(t, s.run(t, captured, 5)[0], s.run(t, plain, 5)[0], tolerance{1e-6, 1e-6})
			apart = tolerance{max(apart.gradient, d.gradient), max(apart.parameter, d.parameter)}
		})
	}
	for _, c := range []struct {
		claim, bound string
		got          tolerance
		limit        tolerance
	}{
		{"torch on " + *device + " against native, first updates",
			"gradients 1e-5 of the largest, parameters 0.2 of a step", worst, single},
		{"captured updates on " + *device + " against the same operation by operation, five updates", "1e-6 of each",
			apart, tolerance{1e-6, 1e-6}},
	} {
		proof.Claim(t, proof.Row{Topic: "gpu", Claim: c.claim, Bound: c.bound,
			Measured: fmt.Sprintf("%.2g, %.2g", c.got.gradient, c.got.parameter),
			Holds:    c.got.gradient <= c.limit.gradient && c.got.parameter <= c.limit.parameter && !t.Failed()})
	}
	for _, e := range []nets.Engine{captured, plain, reference} {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
