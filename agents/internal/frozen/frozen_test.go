package frozen

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
)

func file() *agents.PolicyFile {
	return &agents.PolicyFile{Agent: "test", EnvID: "test/E-v1", Description: []byte(`{"format":1}`),
		Arrays: map[string]agents.Array{
			"w": {Shape: []int{2}, Data: []float32{1, -2}}, "more": {Shape: []int{1}, Data: []float32{0.5}},
		}}
}

// Whatever makes a policy another one changes its fingerprint.
func TestSum(t *testing.T) {
	want := Sum(file(), "more", "w")
	for what, change := range map[string]func(*agents.PolicyFile){
		"agent":       func(f *agents.PolicyFile) { f.Agent = "tes" },
		"environment": func(f *agents.PolicyFile) { f.EnvID = "test/E-v2" },
		"description": func(f *agents.PolicyFile) { f.Description = []byte(`{"format":2}`) },
		"a weight":    func(f *agents.PolicyFile) { f.Arrays["w"].Data[1] = 3 },
		"more":        func(f *agents.PolicyFile) { f.Arrays["more"].Data[0] = 3 },
	} {
		f := file()
		change(f)
		if Sum(f, "more", "w") == want {
			t.Errorf("another %s gives the same fingerprint", what)
		}
	}
	if Sum(file(), "more", "w") != want || Sum(file(), "w") == want {
		t.Error("the fingerprint is not of the content")
	}
}

// acting is what a package that uses this one has.
type acting struct{ Policy }

func (*acting) Act(*envs.Observation, *envs.Action, bool) error { return nil }

func open(f *agents.PolicyFile) *acting {
	return &acting{New(f, "label", "test: policy", Sum(f, "w"))}
}

var _ agents.Policy = (*acting)(nil)

// A state brings another policy of the same file to the same draws; states and copies of other files are refused.
func TestStateIsTheStream(t *testing.T) {
	p, q := open(file()), open(file())
	must.Do(t, p.Reset(7))
	p.Draws.Uint64()
	state := must.Get(p.AppendBinary(nil))(t)
	if err := q.UnmarshalBinary(state); err != nil || q.Draws != p.Draws {
		t.Errorf("restored: %v", err)
	}
	for cut := range state {
		if q.UnmarshalBinary(state[:cut]) == nil {
			t.Errorf("%d of %d bytes were taken", cut, len(state))
		}
	}
	p.Draws.Uint64()
	if err := q.CopyFrom(p); err != nil || q.Draws != p.Draws {
		t.Errorf("copied: %v", err)
	}
	other := file()
	other.Arrays["w"].Data[1] = 3
	r := open(other)
	before := r.Draws
	const wrong = "of another weights"
	if err := r.CopyFrom(p); err == nil || !strings.Contains(err.Error(), wrong) {
		t.Errorf("copying from other weights gave %v", err)
	}
	if err := r.UnmarshalBinary(state); err == nil || !strings.Contains(err.Error(), wrong) {
		t.Errorf("another's state gave %v", err)
	}
	if r.Draws != before {
		t.Error("what was refused changed the draws")
	}
	if f, err := p.Export(); err != nil || f != p.File || p.Name() != "label" {
		t.Errorf("%v, %v, %q", f, err, p.Name())
	}
}

func TestFilesRefused(t *testing.T) {
	spec := &envs.Spec{ID: "test/E-v1"}
	for want, change := range map[string]func(*agents.PolicyFile){
		"trained for test/F-v1, not for test/E-v": func(f *agents.PolicyFile) { f.EnvID = "test/F-v1" },
		"description: unexpected EOF":             func(f *agents.PolicyFile) { f.Description = []byte("{") },
		`unknown field "more"`:                    func(f *agents.PolicyFile) { f.Description = []byte(`{"more":1}`) },
	} {
		f := file()
		change(f)
		var d struct{ Format int }
		if err := Describe(f, spec, &d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	var d struct{ Format int }
	if err := Describe(file(), spec, &d); err != nil || d.Format != 1 {
		t.Errorf("format %d, %v", d.Format, err)
	}
	// Two agents with weights of their own: 2·(1·1 + 1) numbers.
	arch := nets.MLP{Agents: 2, In: []nets.Port{{Name: "x", Width: 1}}, Out: 1, Activation: nets.ReLU}
	if err := Fits(file(), "w", arch); err == nil || !strings.Contains(err.Error(),
		`array "w" has 2 numbers, its architecture has 4`) {
		t.Errorf("half the parameters gave %v", err)
	}
}
