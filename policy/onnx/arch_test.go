package onnx_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/policy/onnx"
	"github.com/stoker-rl/stoker/policy/onnx/onnxtest"
	"github.com/stoker-rl/stoker/rng"
)

// team is an environment of four agents, of which one has no neighbour, that choose twice each.
func team() *envs.Spec {
	return &envs.Spec{ID: "test/Team-v1", Step: envs.Timing{Unit: "step"}, Kinds: []envs.Kind{{
		Name: "agent", Agents: 4, Observation: envs.NewBox(5, -2, 2), Action: envs.MultiDiscrete{N: []int{3, 2}},
		Neighbours: [][]int{{1, 2}, {0, 1, 2}, {1}, {}},
	}}}
}

// archs are networks of every form that an actor can have.
func archs(spec *envs.Spec) map[string]nets.Arch {
	out := map[string]nets.Arch{}
	k := &spec.Kinds[0]
	for _, shared := range []bool{true, false} {
		weights := map[bool]string{true: "shared", false: "own"}[shared]
		m := nets.MLP{
			Agents: k.Agents, Shared: shared, In: []nets.Port{{Name: "observation", Width: k.Observation.Width()}},
			Hidden: []int{7, 6}, Out: k.Action.MaskWidth(), Activation: nets.ReLU,
		}
		out[weights+", relu"] = m
		m.Activation, m.Norm, m.Final = nets.Tanh, nets.LayerNorm, nets.Sigmoid
		out[weights+", tanh, layer norm, sigmoid"] = m
		m.Norm, m.Final = nets.NoNorm, nets.None
		out[weights+", mean"] = nets.MeanField{MLP: m, Mix: nets.Mean, Neighbours: k.Neighbours}
		for _, score := range []string{nets.Exp, nets.Squared} {
			out[weights+", attention, "+score] = nets.MeanField{MLP: m, Mix: nets.Attention, Score: score, Keys: 3,
				Neighbours: k.Neighbours}
		}
	}
	return out
}

// onnxruntime computes every form of actor as nets/native does.
func TestEveryActor(t *testing.T) {
	onnxtest.Python(t)
	spec := team()
	text, err := envs.EncodeSpec(spec)
	must.Do(t, err)
	for name, arch := range archs(spec) {
		t.Run(name, func(t *testing.T) {
			f := &bundle.File{Spec: text, Agent: bundle.Agent{Name: "mine", Env: spec.ID}, Arrays: map[string]bundle.Array{}}
			f.Environment = bundle.Environment{ID: spec.ID, Config: []byte("{}")}
			f.Agent.Description, err = json.Marshal(actor.Description{Format: actor.Format, Kinds: []actor.Kind{{
				Name: "agent", Head: actor.Gumbel, Network: actor.Network{Arch: arch}, Action: actor.Action{Choices: []int{3, 2}},
			}}})
			must.Do(t, err)
			weights := nets.InitialParams(arch, rng.New(1, "onnx: weights"))
			for i := range weights {
				weights[i] *= 3 // so that scores lie apart
			}
			f.Arrays["agent.network"] = bundle.Array{Shape: []int{arch.Groups(), len(weights) / arch.Groups()}, Data: weights}
			model, err := onnx.Write(f)
			must.Do(t, err)
			a := onnxtest.Agree(t, f, model, spec, choose(t, f, spec, 100))
			most := 2e-6
			if strings.Contains(name, "norm") {
				most = 1e-4 // it multiplies what rounding left where numbers lie close together
			}
			if a.Largest > most || a.Beyond > 0 || a.Actions < 300 {
				t.Errorf("of %d actions %d differ, %d of these at a tie; largest error %g", a.Actions, a.Unequal, a.AtTie, a.Largest)
			}
		})
	}
}

// What an absent agent sees, NaN included, does not reach those that see the others' mean.
func TestAbsentAgentsInTheMean(t *testing.T) {
	onnxtest.Python(t)
	spec := team()
	text := must.Get(envs.EncodeSpec(spec))(t)
	k := &spec.Kinds[0]
	arch := nets.MLP{Agents: k.Agents, In: []nets.Port{{Name: "observation", Width: 2 * k.Observation.Width()}},
		Hidden: []int{7}, Out: k.Action.MaskWidth(), Activation: nets.Tanh}
	f := &bundle.File{Spec: text, Agent: bundle.Agent{Name: "mine", Env: spec.ID}, Arrays: map[string]bundle.Array{},
		Environment: bundle.Environment{ID: spec.ID, Config: []byte("{}")}}
	f.Agent.Description = must.Get(json.Marshal(actor.Description{Format: actor.Format, Kinds: []actor.Kind{{
		Name: "agent", Head: actor.Softmax, Mix: actor.Mean, Network: actor.Network{Arch: arch},
		Action: actor.Action{Choices: []int{3, 2}},
	}}}))(t)
	weights := nets.InitialParams(arch, rng.New(1, "onnx: weights"))
	f.Arrays["agent.network"] = bundle.Array{Shape: []int{k.Agents, len(weights) / k.Agents}, Data: weights}
	steps := choose(t, f, spec, 50)
	w := k.Observation.Width()
	for _, s := range steps {
		for i := range s.Seen.Kinds[0].Values {
			if !s.Seen.Kinds[0].Active[i/w] {
				s.Seen.Kinds[0].Values[i] = float32(math.NaN())
			}
		}
	}
	a := onnxtest.Agree(t, f, must.Get(onnx.Write(f))(t), spec, steps)
	if a.Largest > 2e-6 || a.Beyond > 0 || a.Actions == 4*len(steps) {
		t.Errorf("of %d actions %d differ, largest error %g", a.Actions, a.Unequal, a.Largest)
	}
}

// choose returns random observations with the legal choices of the largest scores.
func choose(t *testing.T, f *bundle.File, spec *envs.Spec, n int) (out []onnxtest.Step) {
	t.Helper()
	scores := must.Get(onnxtest.NewScores(f, spec))(t)
	ranges := onnxtest.NewRanges(spec)
	wide := envs.NewObservation(spec)
	for i := range wide.Kinds[0].Values {
		wide.Kinds[0].Values[i] = float32(i%2*2 - 1)
	}
	ranges.Add(wide)
	draws := rng.NewStream(1, "onnx: observations")
	for range n {
		s := onnxtest.Step{Seen: envs.NewObservation(spec), Act: envs.NewAction(spec)}
		ranges.Draw(draws, s.Seen)
		x := must.Get(scores(s.Seen, s.Act))(t)
		k := &s.Seen.Kinds[0]
		from := 0
		for i := range s.Act.Kinds[0] {
			choices := []int{3, 2}[i%2]
			best := -1
			for c := range choices {
				if k.Mask[from+c] && (best < 0 || x[from+c] > x[from+best]) {
					best = c
				}
			}
			s.Act.Kinds[0][i] = float32(max(best, 0))
			from += choices
		}
		out = append(out, s)
	}
	return out
}

func ExampleInputs() {
	spec := team()
	in, err := onnx.Inputs(spec, envs.NewObservation(spec), envs.NewObservation(spec))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range in {
		fmt.Println(t.Name, t.Shape)
	}
	// Output:
	// observation [2 4 5]
	// active [2 4]
	// mask [2 4 5]
}
