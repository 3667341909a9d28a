package onnx

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy/onnx/internal/model"
	"github.com/stoker-rl/stoker/policy/policytest"
)

// A model is one that a runtime can read: operators stand after what they read, names are there once, constants have
// the bytes that their shapes ask for, and everything is of use.
func TestModelIsSound(t *testing.T) {
	for _, name := range policytest.Names() {
		t.Run(name, func(t *testing.T) {
			f := policytest.Zoo(t, name, 3)
			m := must.Get(build(f))(t)
			for _, problem := range problems(&m.Graph) {
				t.Error(problem)
			}
			a := must.Get(Write(f))(t)
			b, err := Write(f)
			if err != nil || !bytes.Equal(a, b) {
				t.Errorf("writing the same bundle twice gives other bytes (error %v)", err)
			}
			if digest := bundle.Digest(policytest.Encode(t, f)); m.Metadata[0] != (model.Entry{Key: KeyDigest, Value: digest}) {
				t.Errorf("the metadata begin with %v, want the bundle's digest %s", m.Metadata[0], digest)
			}
		})
	}
}

// problems says what is wrong with a graph.
func problems(g *model.Graph) (out []string) {
	used, known := map[string]bool{}, map[string]bool{}
	define := func(name string) {
		if name == "" || known[name] {
			out = append(out, "name "+name+" is empty or given twice")
		}
		known[name] = true
	}
	size := map[model.Type]int{model.Float: 4, model.Int64: 8, model.Bool: 1, model.Double: 8}
	for _, c := range g.Constants {
		define(c.Name)
		n := size[c.Type]
		for _, d := range c.Shape {
			n *= d
		}
		if n != len(c.Data) {
			out = append(out, "constant "+c.Name+" has bytes for another shape")
		}
	}
	for _, in := range g.Inputs {
		used[in.Name] = true // an input may be there for the caller's sake
		if i := slices.IndexFunc(g.Constants, func(c model.Tensor) bool { return c.Name == in.Name }); i < 0 {
			define(in.Name)
		} else if c := g.Constants[i]; c.Type != in.Type || len(c.Shape) != len(in.Shape) {
			out = append(out, "input "+in.Name+" is left out for a constant of another form")
		}
	}
	for _, n := range g.Nodes {
		for _, in := range n.Inputs {
			if !known[in] {
				out = append(out, n.Name+" reads "+in+", which nothing before it gives")
			}
			used[in] = true
		}
		for _, o := range n.Outputs {
			define(o)
		}
	}
	for _, o := range g.Outputs {
		used[o.Name] = true
	}
	for name := range known {
		if !used[name] {
			out = append(out, "nothing reads "+name)
		}
	}
	slices.Sort(out)
	return out
}

// unit is the action of the policy that TestRefuses spoils.
const unit = `"action": {"ranges": [[0, 1], [0, 1], [0, 1], [0, 1]]}`

// describe describes a policy of one kind.
func describe(kind string) func(f *bundle.File) {
	return func(f *bundle.File) {
		f.Agent.Description = []byte(`{"format": "actor/1", "stream": "", "kinds": [` + kind + `]}`)
	}
}

// What cannot be written is refused with the reason.
func TestRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(f *bundle.File)
		want   string
	}{
		"format":    {func(f *bundle.File) { f.Agent.Description = []byte(`{"format": "ppo/1"}`) }, "none of format actor/1"},
		"no arrays": {func(f *bundle.File) { f.Arrays = map[string]bundle.Array{} }, "the weights have 0 numbers"},
		"clip":      {func(f *bundle.File) { delete(f.Arrays, "normalise.0.shift") }, `"normalise.0.shift"`},
		"spec":      {func(f *bundle.File) { f.Spec = []byte(`{"id": "x"}`) }, "kinds is empty"},
		"range":     {func(f *bundle.File) { f.Environment.Config = []byte(`{"workflow": "none"}`) }, "workflow"},
		"none":      {describe(`{"name": "function", "head": "gaussian", ` + unit + `}`), "no network"},
		"held":      {describe(`{"name": "function", "head": "held", ` + unit + `}`), `array "function.action" has 0 numbers`},
		"actions":   {describe(`{"name": "function", "head": "held", "action": {"choices": [3]}}`), "trained for the actions"},
		"firm":      {func(f *bundle.File) { f.Agent.Name = "firm" }, "description"},
		"text":      {describe(`{"network": {}}`), "description"},
	} {
		t.Run(name, func(t *testing.T) {
			f := policytest.Zoo(t, "faasconf", 1)
			c.change(f)
			if _, err := Write(f); err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(c.want, "[")) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}
