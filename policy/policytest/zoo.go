// Package policytest makes bundles for tests: of the policies that come with Stoker, with self-tests and ranges from a
// short episode played in their environment. Bundles with an evaluation are made by eval/export.
package policytest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/checkpoints/safetensors"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/policy"
)

// TB has the methods of a test, a benchmark or a fuzz target that this package calls. [Example] is one for examples.
type TB interface {
	Helper()
	Context() context.Context
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Example is a [TB] for examples: it panics where a test would fail.
type Example struct{}

// Helper implements [TB].
func (Example) Helper() {}

// Context implements [TB].
func (Example) Context() context.Context { return context.Background() }

// Fatal implements [TB].
func (Example) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// Fatalf implements [TB].
func (Example) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// File writes the bundle of a shipped policy to a file of its own, for examples. Call remove in the end.
func File(name string) (path string, remove func()) {
	dir, err := os.MkdirTemp("", "stoker-example")
	if err != nil {
		panic(err)
	}
	path = filepath.Join(dir, name+bundle.Extension)
	if err := os.WriteFile(path, Encode(Example{}, Zoo(Example{}, name, 60)), 0o600); err != nil {
		panic(err)
	}
	return path, func() { _ = os.RemoveAll(dir) }
}

// Names are the shipped policies whose environments package policy knows: a sizing policy, a pricing policy, and one
// that places invocations.
func Names() []string { return []string{"faasconf", "hops-pricer", "gnn-placement"} }

// Zoo returns the bundle of a shipped policy, with the ranges and some vectors of steps of an episode with seed 1, in
// which the policy acts.
func Zoo(t TB, name string, steps int) *bundle.File {
	t.Helper()
	f, env := open(t, name)
	// Without self-test and ranges it opens already, and then acts in the environment.
	b := Encode(t, f)
	p, err := policy.OpenBytes(b, policy.Options{NoGuard: true})
	if err != nil {
		t.Fatal(err)
	}
	seen := NewSeen(p.Spec())
	Play(t, env, p, steps, func(i int, o *envs.Observation, a *envs.Action) {
		seen.Add(o)
		if i%max(1, steps/3) == 0 {
			f.SelfTest = append(f.SelfTest, policy.Record(o, a))
		}
	})
	f.Seen = seen.Ranges()
	return f
}

// Play lets a policy act in an environment, and calls each with every step's observation and action.
func Play(t TB, env envs.Env, p *policy.Policy, steps int, each func(i int, o *envs.Observation, a *envs.Action)) {
	t.Helper()
	o, a, out := p.NewObservation(), p.NewAction(), envs.NewOutcome(env.Spec())
	if err := env.Reset(1, nil, o); err != nil {
		t.Fatal(err)
	}
	for i := range steps {
		if _, err := p.Decide(t.Context(), o, a); err != nil {
			t.Fatal(err)
		}
		each(i, o, a)
		if err := env.Step(a, o, out); err != nil {
			t.Fatal(err)
		}
		if out.Terminated || out.Truncated {
			if err := env.Reset(uint64(i+2), nil, o); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Encode returns a bundle's bytes.
func Encode(t TB, f *bundle.File) []byte {
	t.Helper()
	b, err := bundle.Encode(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// open reads a shipped policy, and makes its environment.
func open(t TB, name string) (*bundle.File, envs.Env) {
	t.Helper()
	c, err := zoo.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.Read("policy.json")
	if err != nil {
		t.Fatal(err)
	}
	var head struct {
		Agent       string          `json:"agent"`
		EnvID       string          `json:"env_id"`
		Description json.RawMessage `json:"description"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, head.Description); err != nil {
		t.Fatal(err)
	}
	weights, err := c.Tensors(checkpoints.WeightsFile)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Env      map[string]json.RawMessage `json:"env"`
		Workload json.RawMessage            `json:"workload"`
	}
	if err := json.Unmarshal(c.Header().Config, &config); err != nil {
		t.Fatal(err)
	}
	delete(config.Env, "id")
	section, err := json.Marshal(config.Env)
	if err != nil {
		t.Fatal(err)
	}
	f := &bundle.File{
		Agent:       bundle.Agent{Name: head.Agent, Env: head.EnvID, Description: compact.Bytes()},
		Arrays:      map[string]bundle.Array{},
		Environment: bundle.Environment{ID: head.EnvID, Config: section, Workload: config.Workload},
		Provenance:  bundle.Provenance{Name: name, Kernels: c.Header().Kernels, Seeds: []uint64{1}},
	}
	for _, w := range weights.Tensors() {
		data, err := safetensors.Values[float32](w)
		if err != nil {
			t.Fatal(err)
		}
		f.Arrays[w.Name] = bundle.Array{Shape: w.Shape, Data: data}
	}
	env := World(t, f)
	if f.Spec, err = envs.EncodeSpec(env.Spec()); err != nil {
		t.Fatal(err)
	}
	if rows := policy.FallbacksOf(head.EnvID); len(rows) > 0 {
		f.Fallback = &bundle.Fallback{Name: rows[0].Name, Config: []byte("{}")}
	}
	return f, env
}

// World makes the environment of a bundle, under the workload that it names.
func World(t TB, f *bundle.File) envs.Env {
	t.Helper()
	w := workload.Default()
	if err := envs.ParseJSON(f.Environment.Workload, &w); err != nil {
		t.Fatal(err)
	}
	var env envs.Env
	var err error
	config := func(c any) {
		if err := envs.ParseJSON(f.Environment.Config, c); err != nil {
			t.Fatal(err)
		}
	}
	switch f.Environment.ID {
	case sizing.CountedID:
		c := sizing.DefaultCounted()
		config(&c)
		env, err = sizing.OpenCounted(c, w)
	case pricing.ID:
		c := pricing.Default()
		config(&c)
		env, err = pricing.New(c, w, nil)
	case pricing.SlotsID:
		c := pricing.Default()
		config(&c)
		env, err = pricing.NewSlots(c, w, nil)
	case placement.ID:
		c := placement.Default()
		config(&c)
		env, err = placement.New(c, w)
	default:
		t.Fatalf("%s is not one of the environments of policytest's policies", f.Environment.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// Seen collects the ranges of features.
type Seen struct {
	spec *envs.Spec
	rows map[[2]string][][]float32 // per kind and part: rows of features
}

// NewSeen returns a collector for observations of a spec.
func NewSeen(s *envs.Spec) *Seen { return &Seen{s, map[[2]string][][]float32{}} }

// Add takes an observation.
func (s *Seen) Add(o *envs.Observation) {
	for i := range o.Kinds {
		k := &s.spec.Kinds[i]
		w := k.Observation.Width()
		for j, active := range o.Kinds[i].Active {
			if !active {
				continue
			}
			if w > 0 {
				s.add(k.Name, "", o.Kinds[i].Values[j*w:(j+1)*w], w)
			}
			for _, g := range o.Kinds[i].Graphs {
				for n, kind := range g.Space.Nodes {
					s.add(k.Name, "node."+kind.Name, g.Nodes[n].Features[:g.Nodes[n].Len*kind.Width], kind.Width)
				}
				for e, kind := range g.Space.Edges {
					s.add(k.Name, "edge."+kind.Name, g.Edges[e].Features[:g.Edges[e].Len*kind.Width], kind.Width)
				}
			}
		}
	}
}

func (s *Seen) add(kind, part string, rows []float32, width int) {
	key := [2]string{kind, part}
	for ; width > 0 && len(rows) > 0; rows = rows[width:] {
		s.rows[key] = append(s.rows[key], slices.Clone(rows[:width]))
	}
}

// Ranges returns what was met.
func (s *Seen) Ranges() (out []bundle.Seen) {
	keys := slices.SortedFunc(maps.Keys(s.rows), func(a, b [2]string) int {
		return bytes.Compare([]byte(a[0]+"\x00"+a[1]), []byte(b[0]+"\x00"+b[1]))
	})
	for _, key := range keys {
		rows := s.rows[key]
		one := bundle.Seen{Kind: key[0], Part: key[1]}
		for j := range rows[0] {
			x := make([]float64, len(rows))
			for i := range rows {
				x[i] = float64(rows[i][j])
			}
			slices.Sort(x)
			at := func(q float64) float64 { return x[int(q*float64(len(x)-1))] }
			one.Features = append(one.Features, bundle.Range{Least: x[0], Low: at(0.001), Median: at(0.5), High: at(0.999),
				Greatest: x[len(x)-1]})
		}
		out = append(out, one)
	}
	return out
}
