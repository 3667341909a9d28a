package onnx

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/policy/onnx"
	"github.com/stoker-rl/stoker/policy/onnx/onnxtest"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

// A decision through package policy takes at most three tenths of a call of onnxruntime from Python, on one thread, in
// turn.
func TestLatency(t *testing.T) {
	if !*long {
		t.Skip("-long measures for a minute, on an idle machine")
	}
	onnxtest.Python(t)
	data := "policy,decide_us,onnxruntime_us,ratio\n"
	for _, name := range []string{"MLP 64-128-128-8", "zoo:faasconf", "zoo:hops-pricer", "zoo:gnn-placement"} {
		t.Run(name, func(t *testing.T) {
			var f *bundle.File
			var steps []onnxtest.Step
			if s := (&subject{name: name}); strings.HasPrefix(name, "zoo:") {
				o := s.open(t)
				f, steps = o.file, o.episode(t, 100)
			} else {
				f, steps = mlp(t)
			}
			decide, call := pace(t, f, steps)
			ratio := decide / call
			data += fmt.Sprintf("%q,%.2f,%.2f,%.3f\n", name, decide, call, ratio)
			proof.Claim(t, proof.Row{
				Topic: "speed", Claim: name + ": a decision of package policy against a call of onnxruntime from Python, one thread",
				Bound: "0.3 of its time", Measured: fmt.Sprintf("%.2g (%.2f and %.2f µs)", ratio, decide, call), Holds: ratio <= 0.3,
			})
		})
	}
	if dir := os.Getenv(proof.Folder); dir != "" {
		must.Do(t, os.WriteFile(filepath.Join(dir, "latency.csv"), []byte(data), 0o600))
	}
}

// pace measures both in turn, five times, and returns the medians in µs.
func pace(t *testing.T, f *bundle.File, steps []onnxtest.Step) (decide, call float64) {
	t.Helper()
	b := must.Get(bundle.Encode(f))(t)
	p := must.Get(policy.OpenBytes(b, policy.Options{Workers: 1}))(t)
	model := must.Get(onnx.Write(f))(t)
	var cases [][]onnx.Tensor
	for _, s := range steps {
		c := must.Get(onnx.Inputs(p.Spec(), s.Seen))(t)
		cases = append(cases, c)
	}
	var ours, theirs []float64
	out := p.NewAction()
	for range 5 {
		r := testing.Benchmark(func(b *testing.B) {
			for i := range b.N {
				must.Get(p.Decide(b.Context(), steps[i%len(steps)].Seen, out))(b)
			}
		})
		ours = append(ours, float64(r.T.Nanoseconds())/float64(r.N)/1e3)
		theirs = append(theirs, onnxtest.Time(t, model, cases, 1).Report.Call*1e6)
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	return ours[2], theirs[2]
}

// mlp is a network of the size for which figures of other runtimes are known, that scores 8 choices by 64 numbers.
func mlp(t *testing.T) (*bundle.File, []onnxtest.Step) {
	t.Helper()
	spec := &envs.Spec{ID: "test/Choice-v1", Step: envs.Timing{Unit: "step"}, Kinds: []envs.Kind{{
		Name: "agent", Agents: 1, Observation: envs.NewBox(64, -1, 1), Action: envs.Discrete{N: 8},
	}}}
	arch := nets.MLP{Agents: 1, In: []nets.Port{{Name: "observation", Width: 64}}, Hidden: []int{128, 128}, Out: 8,
		Activation: nets.ReLU}
	weights := nets.InitialParams(arch, rng.New(1, "onnx: weights"))
	f := &bundle.File{Agent: bundle.Agent{Name: "dqn", Env: spec.ID}, Arrays: map[string]bundle.Array{
		"agent.network": {Shape: []int{1, len(weights)}, Data: weights},
	}, Environment: bundle.Environment{ID: spec.ID, Config: []byte("{}")}}
	description, err := json.Marshal(actor.Description{Format: actor.Format, Kinds: []actor.Kind{{
		Name: "agent", Head: actor.Values, Network: actor.Network{Arch: arch}, Action: actor.Action{Choices: []int{8}},
	}}})
	f.Agent.Description = description
	if err == nil {
		f.Spec, err = envs.EncodeSpec(spec)
	}
	must.Do(t, err)
	ranges, draws := onnxtest.NewRanges(spec), rng.NewStream(1, "onnx: observations")
	var steps []onnxtest.Step
	for range 100 {
		s := onnxtest.Step{Seen: envs.NewObservation(spec)}
		ranges.Draw(draws, s.Seen)
		steps = append(steps, s)
	}
	return f, steps
}
