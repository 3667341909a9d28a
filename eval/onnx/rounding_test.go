package onnx

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/normalise"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/policy/onnx"
	"github.com/stoker-rl/stoker/policy/onnx/onnxtest"
	"github.com/stoker-rl/stoker/rng"
)

// What a model and its policy differ by where features of thousands go in as they are is rounding to float32:
// each is about as far from the same policy in float64. With statistics of the observations neither is.
func TestRawFeaturesAreRounded(t *testing.T) {
	onnxtest.Python(t)
	const raw = "sac, own weights, stoker/Sizing-v2"
	for name, most := range map[string]float64{raw: 5e-4, raw + ", standardised": 1e-6} {
		all := subjects()
		o := all[slices.IndexFunc(all, func(s subject) bool { return s.name == name })].open(t)
		spec := o.env.Spec()
		ranges := onnxtest.NewRanges(spec)
		for _, e := range o.episode(t, 1000) {
			ranges.Add(e.Seen)
		}
		steps := o.random(t, ranges, rng.NewStream(1, "onnx: observations"), 5000)
		var policies, models, apart float64
		theirs, exact, act := o.scores(t, steps), o.exact(t), envs.NewAction(spec)
		width := len(theirs) / len(steps)
		for i, e := range steps {
			must.Do(t, exact.Act(e.Seen, act, true))
			for c, x := range act.Kinds[0] {
				if !e.Seen.Kinds[0].Active[c*spec.Kinds[0].Agents/width] {
					continue
				}
				p, m, x := float64(e.Act.Kinds[0][c]), float64(theirs[i*width+c]), float64(x)
				policies, models, apart = max(policies, math.Abs(p-x)), max(models, math.Abs(m-x)), max(apart, math.Abs(p-m))
			}
		}
		t.Logf("%s: from float64 the policy is %.2g, the model %.2g; from each other %.2g", name, policies, models, apart)
		if !(policies <= most && models <= most && apart <= policies+models) {
			t.Errorf("%s: from float64 the policy is %g, the model %g, from each other %g; want at most %g", name, policies, models,
				apart, most)
		}
	}
}

// exact is the policy in float64.
func (o *opened) exact(t *testing.T) envs.Policy {
	t.Helper()
	f := &agents.PolicyFile{Agent: o.file.Agent.Name, EnvID: o.file.Agent.Env, Description: o.file.Agent.Description,
		Arrays: map[string]agents.Array{}}
	for name, a := range o.file.Arrays {
		f.Arrays[name] = agents.Array(a)
	}
	p := must.Get(normalise.Open(f, o.env.Spec(), func(f *agents.PolicyFile, s *envs.Spec) (agents.Policy, error) {
		return actor.Open(f, s, native.New(native.Options{DType: nets.Float64}))
	}))(t)
	return p
}

// scores are what onnxruntime makes of the steps' observations.
func (o *opened) scores(t *testing.T, steps []onnxtest.Step) []float32 {
	t.Helper()
	model := must.Get(onnx.Write(o.file))(t)
	var all []*envs.Observation
	for i := range steps {
		all = append(all, steps[i].Seen)
	}
	inputs := must.Get(onnx.Inputs(o.env.Spec(), all...))(t)
	return onnxtest.Run(t, model, [][]onnx.Tensor{inputs}).Outputs[0]["scores"]
}
