package onnx_test

import (
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/policy/onnx"
	"github.com/stoker-rl/stoker/policy/onnx/onnxtest"
	"github.com/stoker-rl/stoker/policy/policytest"
	"github.com/stoker-rl/stoker/rng"
)

// onnxruntime decides as package policy does: for a sizing policy, a pricing policy and one that places invocations, on
// random observations.
func TestAgreesWithONNXRuntime(t *testing.T) {
	onnxtest.Python(t)
	for _, name := range policytest.Names() {
		t.Run(name, func(t *testing.T) {
			f := policytest.Zoo(t, name, 30)
			model := must.Get(onnx.Write(f))(t)
			p := must.Get(policy.OpenBytes(policytest.Encode(t, f), policy.Options{NoGuard: true}))(t)
			ranges := onnxtest.NewRanges(p.Spec())
			policytest.Play(t, policytest.World(t, f), p, 30, func(_ int, o *envs.Observation, _ *envs.Action) { ranges.Add(o) })
			draws := rng.NewStream(1, "onnx: observations")
			steps := make([]onnxtest.Step, 200)
			for i := range steps {
				steps[i] = onnxtest.Step{Seen: p.NewObservation(), Act: p.NewAction()}
				ranges.Draw(draws, steps[i].Seen)
				must.Get(p.Decide(t.Context(), steps[i].Seen, steps[i].Act))(t)
			}
			a := onnxtest.Agree(t, f, model, p.Spec(), steps)
			t.Logf("%d actions, largest error %.2g, %d unequal, %d of these at a tie", a.Actions, a.Largest, a.Unequal, a.AtTie)
			if a.Largest > 1e-5 || a.Beyond > 0 || a.Report.IR != 10 || a.Report.Opset[""] != 18 {
				t.Errorf("the model and the policy do not agree: %+v", a)
			}
		})
	}
}
