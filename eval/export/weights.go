package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/checkpoints/safetensors"
	"github.com/stoker-rl/stoker/nets"
)

// Weights writes a policy's weights alone as a safetensors file: a tensor for each parameter, as ARRAY.PARAMETER. Every
// matrix is [out, in], as torch.nn.Linear has it; where agents have weights of their own, [agents, …] goes before. What
// is no network's parameter, such as statistics of observations, is as in the policy's file. The metadata hold the
// agent's name and its description, which has the architecture.
func Weights(f *bundle.File) ([]byte, error) {
	archs := map[string]nets.Arch{}
	if err := findArchs(f.Agent.Description, "", "", archs); err != nil {
		return nil, fmt.Errorf("safetensors: description: %w", err)
	}
	var all []safetensors.Tensor
	for _, name := range slices.Sorted(maps.Keys(f.Arrays)) {
		a := f.Arrays[name]
		arch, ok := archs[name]
		if !ok {
			all = append(all, safetensors.Of(name, a.Data, a.Shape...))
			continue
		}
		slots, size := nets.Layout(arch)
		groups := arch.Groups()
		if len(a.Data) != groups*size {
			return nil, fmt.Errorf("safetensors: array %q has %d numbers, its architecture has %d", name, len(a.Data),
				groups*size)
		}
		for _, s := range slots {
			all = append(all, parameter(name+"."+s.Name, s, a.Data, groups, size))
		}
	}
	meta := map[string]string{"format": "pt", "stoker.agent": f.Agent.Name,
		"stoker.description": string(f.Agent.Description)}
	var buf bytes.Buffer
	err := safetensors.Write(&buf, meta, all...)
	return buf.Bytes(), err
}

// parameter is a parameter of all groups as one tensor.
func parameter(name string, s nets.Slot, data []float32, groups, size int) safetensors.Tensor {
	var out []float32
	shape := slices.Clone(s.Shape)
	slices.Reverse(shape)
	for g := range groups {
		part := data[g*size+s.Offset:][:s.Size()]
		if len(s.Shape) != 2 {
			out = append(out, part...)
			continue
		}
		ins, outs := s.Shape[0], s.Shape[1]
		for o := range outs {
			for i := range ins {
				out = append(out, part[i*outs+o])
			}
		}
	}
	if groups > 1 {
		shape = append([]int{groups}, shape...)
	}
	return safetensors.Of(name, out, shape...)
}

// findArchs finds the architectures in a policy's description, by the names of their arrays. An architecture's array is
// called by its key; in a list of kinds of agents it is KIND.KEY.
func findArchs(text json.RawMessage, key, kind string, out map[string]nets.Arch) error {
	switch bytes.TrimLeft(text, " \n\t")[0] {
	case '[':
		var list []json.RawMessage
		if err := json.Unmarshal(text, &list); err != nil {
			return err
		}
		for _, v := range list {
			var named struct {
				Name string `json:"name"`
			}
			if json.Unmarshal(v, &named) != nil {
				continue // no object: nothing in it
			}
			if err := findArchs(v, key, named.Name, out); err != nil {
				return err
			}
		}
	case '{':
		var object map[string]json.RawMessage
		if err := json.Unmarshal(text, &object); err != nil {
			return err
		}
		if len(object["kind"]) > 0 && len(object["arch"]) > 0 {
			arch, err := nets.DecodeArch(text)
			if err != nil {
				return err
			}
			if kind != "" {
				key = kind + "." + key
			}
			out[key] = arch
			return nil
		}
		for k, v := range object {
			if err := findArchs(v, k, kind, out); err != nil {
				return err
			}
		}
	}
	return nil
}
