package serving_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/policy/onnx"
	"github.com/stoker-rl/stoker/policy/policytest"
	"github.com/stoker-rl/stoker/serving"
)

// A policy that sees graphs takes the inputs of its ONNX model, and decides as package policy does.
func TestGraph(t *testing.T) {
	const name = "gnn-placement"
	r := start(t, []string{name}, nil, serving.Files{})
	p, all := played(t, name, 100)
	started := false
	for i, o := range all {
		inputs := must.Get(onnx.Inputs(p.Spec(), o))(t)
		act := p.NewAction()
		must.Get(p.Decide(t.Context(), o, act))(t)
		status, body, _ := r.send(t, "POST", "/v2/models/"+name+"/infer", tensorsJSON(t, inputs))
		if status != http.StatusOK {
			t.Fatalf("observation %d: %d %.300s", i, status, body)
		}
		a := parse(t, body)
		if !slices.Equal(a.output("action"), act.Kinds[0]) || a.Params["decided_by"] != "policy" ||
			!slices.Equal(a.Outputs[0].Shape, []int{3}) {
			t.Errorf("observation %d: %.300s, want %v", i, body, act.Kinds[0])
		}
		started = started || act.Kinds[0][0] == 0
	}
	if !started {
		t.Error("nothing was started")
	}
}

// played is observations of an episode.
func played(t *testing.T, name string, steps int) (*policy.Policy, []*envs.Observation) {
	t.Helper()
	p, _ := seen(t, name)
	var out []*envs.Observation
	policytest.Play(t, policytest.World(t, p.Bundle()), p, steps, func(_ int, o *envs.Observation, _ *envs.Action) {
		kept := p.NewObservation()
		kept.CopyFrom(o)
		out = append(out, kept)
	})
	return p, out
}

// tensorsJSON is a request of a model's inputs, edges without features left out.
func tensorsJSON(t *testing.T, all []onnx.Tensor) string {
	t.Helper()
	var inputs []map[string]any
	for _, in := range all {
		m := map[string]any{"name": in.Name, "shape": in.Shape}
		switch {
		case in.Ints != nil:
			m["datatype"], m["data"] = "INT64", in.Ints
		case in.Bools != nil:
			m["datatype"], m["data"] = "BOOL", in.Bools
		default:
			m["datatype"], m["data"] = "FP32", append([]float32{}, in.Floats...)
		}
		inputs = append(inputs, m)
	}
	b := must.Get(json.Marshal(map[string]any{"inputs": inputs}))(t)
	return string(b)
}

// Graphs that are none, and tables that contradict themselves or the features, are refused with the place.
func TestBadGraphs(t *testing.T) {
	const name = "gnn-placement"
	r := start(t, []string{name}, nil, serving.Files{})
	p, all := played(t, name, 100)
	busy := all[slices.IndexFunc(all, func(o *envs.Observation) bool {
		return slices.Max(o.Kinds[0].Legal) > 1 && o.Kinds[0].Graphs[0].Edges[3].Len > 0
	})]
	fresh := func() []onnx.Tensor {
		inputs := must.Get(onnx.Inputs(p.Spec(), busy))(t)
		for i := range inputs { // they share the observation's numbers
			in := &inputs[i]
			in.Floats, in.Ints, in.Bools = slices.Clone(in.Floats), slices.Clone(in.Ints), slices.Clone(in.Bools)
		}
		return inputs
	}
	find := func(all []onnx.Tensor, name string) *onnx.Tensor {
		return &all[slices.IndexFunc(all, func(t onnx.Tensor) bool { return t.Name == name })]
	}
	for want, change := range map[string]func(all []onnx.Tensor) []onnx.Tensor{
		`"edge.sharing.index": edge 0 goes from -1 to`: func(all []onnx.Tensor) []onnx.Tensor {
			find(all, "edge.sharing.index").Ints[0] = -1
			return all
		},
		`"edge.sharing.features": has 0 edges, edge.sharing.index has`: func(all []onnx.Tensor) []onnx.Tensor {
			f := find(all, "edge.sharing.features")
			f.Shape, f.Floats = []int{0, 3}, nil
			return all
		},
		`"node.node": has 1000 nodes, want at most`: func(all []onnx.Tensor) []onnx.Tensor {
			n := find(all, "node.node")
			n.Shape[0] = 1000
			n.Floats = make([]float32, 1000*n.Shape[1])
			return all
		},
		`"legal.node": [0, 1, `: func(all []onnx.Tensor) []onnx.Tensor {
			table := find(all, "legal.node")
			clear(table.Bools)
			table.Bools[table.Shape[2]] = true // amount 1 of invocation 0, without amount 0
			return all
		},
		`"legal.invocation": data[0] is false, the table of node says true`: func(all []onnx.Tensor) []onnx.Tensor {
			find(all, "legal.invocation").Bools[0] = false
			return all
		},
		`node.invocation: waiting is 1 for the first 0, want it for the first`: func(all []onnx.Tensor) []onnx.Tensor {
			for i := range all {
				for j := range all[i].Floats {
					all[i].Floats[j] = 0.1
				}
			}
			return all
		},
		`node.invocation: waiting is 1 for the first 128, want at most 64`: func(all []onnx.Tensor) []onnx.Tensor {
			n := find(all, "node.invocation")
			n.Shape[0] = 128
			n.Floats = slices.Repeat([]float32{1}, 128*n.Shape[1])
			return all
		},
		`"legal.node" is missing`: func(all []onnx.Tensor) []onnx.Tensor {
			return slices.DeleteFunc(all, func(t onnx.Tensor) bool { return t.Name == "legal.node" })
		},
	} {
		status, body, _ := r.send(t, "POST", "/v2/models/"+name+"/infer", tensorsJSON(t, change(fresh())))
		if status != http.StatusBadRequest || !strings.Contains(unescape(body), want) {
			t.Errorf("%d %s\nwant %s", status, body, want)
		}
	}
}
