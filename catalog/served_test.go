package catalog_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/policy"
)

// The policy of every form of every learner, in every environment in which it learns, leaves as a bundle, opens, and
// does to the bit what the learner's own policy does.
func TestEveryPolicyServes(t *testing.T) {
	names := catalog.Default()
	for _, l := range names.Learners {
		for _, form := range l.Forms {
			for _, e := range names.Envs {
				if e.Short == "" || !slices.Contains(form.Envs, e.ID) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s", l.Name, form.Name, e.ID), func(t *testing.T) {
					text := fmt.Sprintf("name: short\n%s\nagent: {name: %s, %s, %s}\ntrain: {steps: 8, envs: 2}\n", e.Short, l.Name,
						form.Keys, l.Brief)
					x, err := configs.Parse("test", []byte(text), nil, names)
					if err != nil {
						t.Fatal(err)
					}
					serves(t, names, l, x)
				})
			}
		}
	}
}

// serves trains a learner for a moment, and compares its policy with the one that a bundle gives.
func serves(t *testing.T, names *catalog.Catalog, l catalog.Learner, x *configs.Experiment) {
	t.Helper()
	make1 := func() (envs.Env, error) { return names.NewEnv(x.Env.Name, x.Env.Config, x.Workload) }
	v, err := envs.NewVector(make1, envs.VectorOptions{NumEnvs: 2, Seed: 1, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	engine := native.New(native.Options{Threads: 1})
	learner, err := l.New(x.Agent.Config, agents.Context{Spec: v.Spec(), NumEnvs: 2, Train: engine, Act: engine, Seed: 1,
		Steps: 8, NewEnv: make1, Teacher: func(string) (agents.Teacher, error) { return idle{}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	trained, err := learner.Policy()
	if err != nil {
		t.Fatal(err)
	}
	f := bundleOf(t, trained, v.Spec(), x)
	env, err := make1()
	if err != nil {
		t.Fatal(err)
	}
	o, want, out := envs.NewObservation(v.Spec()), envs.NewAction(v.Spec()), envs.NewOutcome(v.Spec())
	if err := env.Reset(1, nil, o); err != nil {
		t.Fatal(err)
	}
	if err := trained.Reset(0); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := trained.Act(o, want, true); err != nil {
			t.Fatal(err)
		}
		f.SelfTest = append(f.SelfTest, policy.Record(o, want))
		if err := env.Step(want, o, out); err != nil {
			t.Fatal(err)
		}
		if out.Terminated || out.Truncated {
			break
		}
	}
	b, err := bundle.Encode(f)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.OpenBytes(b, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := p.NewAction()
	for i := range f.SelfTest {
		if err := policy.Show(&f.SelfTest[i], o); err != nil {
			t.Fatal(err)
		}
		d, err := p.Decide(t.Context(), o, got)
		if err != nil || d.By != policy.ByPolicy {
			t.Fatalf("step %d: %v, %v", i, d, err)
		}
		for k := range got.Kinds {
			if !slices.Equal(got.Kinds[k], f.SelfTest[i].Kinds[k].Action) {
				t.Errorf("step %d: %v, the learner's own does %v", i, got.Kinds[k], f.SelfTest[i].Kinds[k].Action)
			}
		}
		if n := testing.AllocsPerRun(5, func() { _, _ = p.Decide(t.Context(), o, got) }); n != 0 {
			t.Errorf("a decision allocates %v times", n)
		}
	}
}

// bundleOf writes a policy as a bundle.
func bundleOf(t *testing.T, p agents.Policy, s *envs.Spec, x *configs.Experiment) *bundle.File {
	t.Helper()
	stored, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	f := &bundle.File{
		Agent:       bundle.Agent{Name: stored.Agent, Env: stored.EnvID, Description: stored.Description},
		Arrays:      map[string]bundle.Array{},
		Environment: bundle.Environment{ID: s.ID},
	}
	for name, a := range stored.Arrays {
		f.Arrays[name] = bundle.Array(a)
	}
	if f.Spec, err = envs.EncodeSpec(s); err != nil {
		t.Fatal(err)
	}
	if f.Environment.Config, err = json.Marshal(x.Env.Config); err != nil {
		t.Fatal(err)
	}
	if f.Environment.Workload, err = json.Marshal(x.Workload); err != nil {
		t.Fatal(err)
	}
	return f
}

// idle teaches nothing: learners that imitate need some teacher to be made.
type idle struct{ agents.Teacher }

func (idle) Name() string { return "idle" }
