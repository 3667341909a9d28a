package onnx

import (
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/policy/policytest"
)

// A description and a spec from elsewhere are written as a sound graph, or refused.
func FuzzDescription(f *testing.F) {
	for _, name := range policytest.Names() {
		b := policytest.Zoo(f, name, 1)
		f.Add(b.Agent.Name, []byte(b.Agent.Description), []byte(b.Spec), name)
	}
	f.Add("firm", []byte(`{"move": 2, "low": 0, "high": 1, "actor": {"format": "actor/1", "kinds": [{"name": "function"}]}}`), []byte(`{}`),
		"faasconf")
	arrays := map[string]map[string]bundle.Array{}
	for _, name := range policytest.Names() {
		arrays[name] = policytest.Zoo(f, name, 1).Arrays
	}
	f.Fuzz(func(t *testing.T, agent string, description, text []byte, name string) {
		spec, err := envs.DecodeSpec(text, never)
		if err != nil || spec.Agents() > 64 {
			return
		}
		file := &agents.PolicyFile{Agent: agent, EnvID: spec.ID, Description: description, Arrays: map[string]agents.Array{}}
		for name, a := range arrays[name] {
			file.Arrays[name] = agents.Array(a)
		}
		p := &policy{builder: newBuilder("policy"), file: file, spec: spec}
		if p.write() != nil {
			return
		}
		for _, problem := range problems(&p.model) {
			t.Error(problem)
		}
	})
}
