package onnx_test

import (
	"encoding/json"
	"testing"

	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/graphs"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
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
		t.Run(name, func(t *testing.T) { agree(t, policytest.Zoo(t, name, 30), 200) })
	}
}

// agree plays a policy, and compares what it and its model decide on n random observations like those that it met.
func agree(t *testing.T, f *bundle.File, n int) {
	t.Helper()
	model := must.Get(onnx.Write(f))(t)
	p := must.Get(policy.OpenBytes(policytest.Encode(t, f), policy.Options{NoGuard: true}))(t)
	ranges := onnxtest.NewRanges(p.Spec())
	policytest.Play(t, policytest.World(t, f), p, 30, func(_ int, o *envs.Observation, _ *envs.Action) { ranges.Add(o) })
	draws := rng.NewStream(1, "onnx: observations")
	steps := make([]onnxtest.Step, n)
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
}

// onnxruntime computes every form of network over graphs as nets/native does.
func TestEveryActorOverGraphs(t *testing.T) {
	onnxtest.Python(t)
	for name, net := range map[string]graphs.Net{
		"messages alone":  {Hidden: 6, Layers: 2},
		"own, both ways":  {Hidden: 6, Layers: 1, Own: true, BothWays: true},
		"skip, layernorm": {Hidden: 6, Layers: 3, Skip: true, Norm: nets.LayerNorm, BothWays: true},
		"all":             {Hidden: 6, Layers: 2, Own: true, Skip: true, Norm: nets.LayerNorm, BothWays: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := policytest.Zoo(t, "gnn-placement", 30)
			spec := policytest.World(t, f).Spec()
			arch := must.Get(graphs.NewProblem(spec))(t).Policy(net, 0)
			var d actor.Description
			must.Do(t, json.Unmarshal(f.Agent.Description, &d))
			d.Kinds[0].Network = actor.Network{Arch: arch}
			f.Agent.Description = must.Get(json.Marshal(d))(t)
			weights := nets.InitialParams(arch, rng.New(1, "onnx: weights"))
			for i := range weights {
				weights[i] *= 3 // so that scores lie apart
			}
			f.Arrays[d.Kinds[0].Array("network")] = bundle.Array{Shape: []int{1, len(weights)}, Data: weights}
			agree(t, f, 100)
		})
	}
}
