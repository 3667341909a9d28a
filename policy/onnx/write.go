package onnx

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/policy/onnx/model"
)

// Extension is the end of a model's name.
const Extension = ".onnx"

// Keys of a model's metadata.
const (
	// KeyDigest is the SHA-256 of the bundle that the model was made from, in hexadecimal digits.
	KeyDigest = "stoker.digest"
	// KeySpec is the bundle's spec, KeyAgent the name of the agent that learned.
	KeySpec  = "stoker.spec"
	KeyAgent = "stoker.agent"
)

// Write returns a bundle's policy as an ONNX model. The same bundle gives the same bytes.
func Write(f *bundle.File) ([]byte, error) {
	m, err := build(f)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return m.Append(nil)
}

func build(f *bundle.File) (*model.Model, error) {
	spec, err := envs.DecodeSpec(f.Spec, never)
	if err != nil {
		return nil, err
	}
	b, err := bundle.Encode(f)
	if err != nil {
		return nil, err
	}
	stored := &agents.PolicyFile{Agent: f.Agent.Name, EnvID: f.Agent.Env, Description: f.Agent.Description,
		Arrays: map[string]agents.Array{}}
	for name, a := range f.Arrays {
		stored.Arrays[name] = agents.Array(a)
	}
	p := &policy{builder: newBuilder("policy"), file: stored, spec: spec}
	if p.units, err = platformUnits(&f.Environment); err != nil {
		return nil, err
	}
	if err := p.write(); err != nil {
		return nil, fmt.Errorf("%s: policy of %s: %w", spec.ID, f.Agent.Name, err)
	}
	text, err := compact(f.Spec)
	if err != nil {
		return nil, err
	}
	return &model.Model{
		Producer: "stoker", Doc: "The deterministic policy of " + f.Agent.Name + " for " + spec.ID + ". " + spec.Doc,
		Metadata: []model.Entry{{Key: KeyDigest, Value: bundle.Digest(b)}, {Key: KeyAgent, Value: f.Agent.Name},
			{Key: KeySpec, Value: text}},
		Graph: p.model,
	}, nil
}

// never stands for dependent masks: in a model they are tables, and inputs.
func never(*envs.Spec, int) (func(*envs.KindObservation, int, []float32, []bool) error, error) {
	return func(*envs.KindObservation, int, []float32, []bool) error {
		return errors.New("the masks are inputs of the model")
	}, nil
}

// platformUnits says what the actions of the sizing environments stand for; nil for others, whose actions are in the
// platform's units. The ends of the ranges are what the environment's own code makes of actions of 0 and of 1.
func platformUnits(e *bundle.Environment) (*units, error) {
	if e.ID != sizing.ID && e.ID != sizing.CountedID {
		return nil, nil //nolint:nilnil // there is nothing to convert, and nothing is wrong
	}
	o, err := sizing.OpenObserver(e.ID, e.Config, e.Workload)
	if err != nil {
		return nil, err
	}
	u := &units{columns: []column{
		{"cores", "of each instance", false, 1e-3}, {"MB", "of each instance", false, 1},
		{"replicas", "instances", true, 1}, {"concurrency", "requests at once in an instance", true, 1},
	}}
	act := envs.NewAction(o.Spec())
	ends := make([]sizing.Settings, o.Spec().Kinds[0].Agents)
	for _, end := range []struct {
		at float32
		to *[][]float64
	}{{0, &u.low}, {1, &u.high}} {
		for i := range act.Kinds[0] {
			act.Kinds[0][i] = end.at
		}
		if err := o.Settings(act, ends); err != nil {
			return nil, err
		}
		for _, s := range ends {
			r := s.Resources()
			*end.to = append(*end.to, []float64{float64(r.CPU), float64(r.Memory), float64(r.Replicas), float64(r.Concurrency)})
		}
	}
	return u, nil
}

// compact is a JSON text without spaces.
func compact(text json.RawMessage) (string, error) {
	b, err := json.Marshal(text)
	return string(b), err
}
