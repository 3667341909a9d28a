package native_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/nets/enginestest"
	"github.com/stoker-rl/stoker/tools/proof"
)

// recording is testdata/adam.json: PyTorch's parameters and moments for the gradients of testdata/adam.py.
type recording struct {
	Torch        string
	Groups, Size int
	Runs         []recordedRun
}

// recordedRun is one configuration in one number format.
type recordedRun struct {
	Case struct {
		Name                              string
		Rate, Beta1, Beta2, Epsilon, Clip float64
		LaterRate                         float64 `json:"later_rate"` // from step 501
	}
	DType string
	Kept  []struct {
		Step   int
		Params []float64
	}
	First  []float64 `json:"first_moment"`  // at the end
	Second []float64 `json:"second_moment"` // at the end
}

func readRecording(t *testing.T) recording {
	t.Helper()
	text := must.Get(os.ReadFile("testdata/adam.json"))(t)
	var r recording
	must.Do(t, json.Unmarshal(text, &r))
	return r
}

// recordedGradient is gradient in testdata/adam.py: exact in both number formats.
func recordedGradient(t, i int) float64 {
	if i%13 == 3 {
		return 0
	}
	k := float64((7919*t+104729*i+31*t*t*(i+1))%65537 - 32768)
	exponent := -15 - 5*i%11
	if i%13 == 5 {
		exponent -= 30
	}
	return math.Ldexp(k, exponent)
}

// recordedStart is start in testdata/adam.py.
func recordedStart(i int) float64 { return math.Ldexp(float64(12289*i%65537-32768), -15) }

// With the recorded gradients, every engine's Adam agrees with PyTorch's over 1,000 steps.
func TestAdamIsPyTorchs(t *testing.T) {
	const bound = 1e-6
	r := readRecording(t)
	for _, name := range enginestest.Names() {
		for _, d := range []nets.DType{nets.Float32, nets.Float64} {
			e := must.Get(enginestest.Open(name, d))(t)
			worst, runs := 0.0, 0
			for _, run := range r.Runs {
				if run.DType == d.String() {
					runs++
					worst = max(worst, run.replay(t, e, r))
				}
			}
			if runs != 4 {
				t.Fatalf("%d recordings in %v, want 4", runs, d)
			}
			proof.Claim(t, proof.Row{
				Topic:    "numerics",
				Claim:    fmt.Sprintf("Adam of engine %s in %v: parameters (up to 1 in size) against PyTorch %s on recorded gradients, 1,000 steps, with and without clipping", name, d, r.Torch),
				Bound:    "1e-6",
				Measured: fmt.Sprintf("%.1e, the largest difference of 4 configurations at 12 of the steps", worst),
				Holds:    worst <= bound,
				Command:  command(name),
			})
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// command reproduces an engine's row; libtorch's engine needs its build tag.
func command(engine string) string {
	tags := ""
	if engine == engines.Torch {
		tags = "-tags libtorch "
	}
	return "go test " + tags + "./nets/native -run '^TestAdamIsPyTorchs$' -v"
}

// replay does the recorded steps and returns the largest difference of a parameter. Moments are compared relative to
// the largest moment, because their scale is that of the gradients.
func (r recordedRun) replay(t *testing.T, e nets.Engine, all recording) (worst float64) {
	t.Helper()
	// A linear layer of 6 inputs and 2 outputs: 14 parameters for each of two agents, clipped separately.
	n := must.Get(e.NewNet(nets.MLP{Agents: all.Groups, In: []nets.Port{{Name: "x", Width: 6}}, Out: 2, Activation: nets.ReLU}))(t)
	total := nets.Size(n.Params())
	if total != all.Groups*all.Size {
		t.Fatalf("%d parameters, want %d groups of %d", total, all.Groups, all.Size)
	}
	c := r.Case
	adam := must.Get(e.NewAdam(n, nets.Adam{Rate: c.Rate, Beta1: c.Beta1, Beta2: c.Beta2, Epsilon: c.Epsilon, Clip: c.Clip}))(t)
	x := make([]float64, total)
	for i := range x {
		x[i] = recordedStart(i)
	}
	n.Params().Set64(x)
	next := 0
	for step := 1; next < len(r.Kept); step++ {
		for i := range x {
			x[i] = recordedGradient(step, i)
		}
		n.Grads().Set64(x)
		if step == 501 && c.LaterRate > 0 {
			adam.SetRate(c.LaterRate)
		}
		adam.Advance()
		adam.Step()
		if step == r.Kept[next].Step {
			n.Params().Get64(x)
			worst = max(worst, largestDifference(t, x, r.Kept[next].Params))
			next++
		}
	}
	first, second := adam.Moments()
	for _, m := range []struct {
		name string
		got  nets.Tensor
		want []float64
	}{{"first moments", first, r.First}, {"second moments", second, r.Second}} {
		m.got.Get64(x)
		scale := 0.0
		for _, v := range m.want {
			scale = max(scale, math.Abs(v))
		}
		if d := largestDifference(t, x, m.want); !(d <= 1e-6*scale) {
			t.Errorf("%s, %s: %s are off by %.2g of their largest", c.Name, r.DType, m.name, d/scale)
		}
	}
	must.Do(t, e.Err())
	return worst
}

// largestDifference is infinite if a number is NaN, so that no bound holds.
func largestDifference(t *testing.T, got, want []float64) (d float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d numbers, want %d", len(got), len(want))
	}
	for i := range want {
		if math.IsNaN(got[i]) {
			return math.Inf(1)
		}
		d = max(d, math.Abs(got[i]-want[i]))
	}
	return d
}
