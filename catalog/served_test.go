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
	"github.com/stoker-rl/stoker/internal/must"
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
					x := must.Get(configs.Parse("test", []byte(text), nil, names))(t)
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
	v := must.Get(envs.NewVector(make1, envs.VectorOptions{NumEnvs: 2, Seed: 1, Workers: 1}))(t)
	engine := native.New(native.Options{Threads: 1})
	learner := must.Get(l.New(x.Agent.Config, agents.Context{Spec: v.Spec(), NumEnvs: 2, Train: engine, Act: engine, Seed: 1,
		Steps: 8, NewEnv: make1, Teacher: func(string) (agents.Teacher, error) { return idle{}, nil }}))(t)
	trained := must.Get(learner.Policy())(t)
	f := bundleOf(t, trained, v.Spec(), x)
	env := must.Get(make1())(t)
	o, want, out := envs.NewObservation(v.Spec()), envs.NewAction(v.Spec()), envs.NewOutcome(v.Spec())
	must.Do(t, env.Reset(1, nil, o))
	must.Do(t, trained.Reset(0))
	for range 3 {
		must.Do(t, trained.Act(o, want, true))
		f.SelfTest = append(f.SelfTest, policy.Record(o, want))
		must.Do(t, env.Step(want, o, out))
		if out.Terminated || out.Truncated {
			break
		}
	}
	b := must.Get(bundle.Encode(f))(t)
	p := must.Get(policy.OpenBytes(b, policy.Options{Workers: 1}))(t)
	got := p.NewAction()
	for i := range f.SelfTest {
		must.Do(t, policy.Show(&f.SelfTest[i], o))
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
	must.Do(t, err)
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
