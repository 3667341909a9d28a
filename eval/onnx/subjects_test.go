package onnx

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy/onnx/onnxtest"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/train"
)

// subject is a policy to export.
type subject struct {
	name string
	// config is the run that trains it; empty for a policy of the zoo.
	config string
	// quick says that ordinary tests take it too.
	quick bool
}

// subjects are the policies of the zoo, and every form of every learner of the catalog in its environments: trained for
// 400 steps, with and without statistics of observations.
func subjects() (out []subject) {
	for _, name := range zoo.Names() {
		out = append(out, subject{zoo.Prefix + name, "", true})
	}
	names := catalog.Default()
	for _, l := range names.Learners {
		for i, f := range l.Forms {
			for j, id := range f.Envs {
				e, err := names.Env(id)
				if err != nil || e.Short == "" {
					continue
				}
				one := subject{fmt.Sprintf("%s, %s, %s", l.Name, f.Name, id), experiment(e.Short, &l, f.Keys, ""), i == 0 && j == 0}
				out = append(out, one)
				if standardised[l.Name] && i == 0 {
					one.name += ", standardised"
					one.config = experiment(e.Short, &l, f.Keys, "wrappers: {normalize_observation: {clip: 2}}\n")
					out = append(out, one)
				}
			}
		}
	}
	return out
}

// standardised are the learners that are tried with statistics that a wrapper keeps.
var standardised = map[string]bool{"ppo": true, "dqn": true, "sac": true}

func experiment(env string, l *catalog.Learner, keys, more string) string {
	return fmt.Sprintf("name: short\nseed: 3\n%s\n%sagent: {name: %s, %s, %s}\ntrain: {steps: 400, envs: 4, log_every: 400, "+
		"evaluate: {every: 0}, checkpoint: {every: 400, keep: 1}}\n", env, more, l.Name, keys, l.Longer)
}

// opened is a subject's policy with its environment and its bundle.
type opened struct {
	env    envs.Env
	policy envs.Policy
	file   *bundle.File
}

func (s *subject) open(t *testing.T) *opened {
	t.Helper()
	path := s.name
	if s.config != "" {
		x, err := configs.Parse("short.yaml", []byte(s.config), nil, catalog.Default())
		must.Do(t, err)
		runs := t.TempDir()
		if _, err := train.Start(context.Background(), x, train.Options{RunsDir: runs, Name: "a", Threads: 1}); err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(runs, "a")
	}
	trained, err := eval.OpenTrained(catalog.Default(), path, nil)
	must.Do(t, err)
	o := &opened{}
	if o.env, err = train.NewEnv(trained.Experiment, trained.Experiment.Eval.Split); err != nil {
		t.Fatal(err)
	}
	if o.policy, err = trained.Policy(o.env.Spec()); err != nil {
		t.Fatal(err)
	}
	o.file = bundleOf(t, trained, o.env.Spec())
	return o
}

// bundleOf is what a model needs of a bundle.
func bundleOf(t *testing.T, p *eval.Trained, spec *envs.Spec) *bundle.File {
	t.Helper()
	var config struct {
		Env      map[string]json.RawMessage `json:"env"`
		Workload json.RawMessage            `json:"workload"`
	}
	must.Do(t, json.Unmarshal(p.Checkpoint.Header().Config, &config))
	delete(config.Env, "id")
	section, err := json.Marshal(config.Env)
	must.Do(t, err)
	f := &bundle.File{
		Agent:       bundle.Agent{Name: p.File.Agent, Env: p.File.EnvID, Description: p.File.Description},
		Environment: bundle.Environment{ID: p.File.EnvID, Config: section, Workload: config.Workload},
		Arrays:      map[string]bundle.Array{},
	}
	for name, a := range p.File.Arrays {
		f.Arrays[name] = bundle.Array(a)
	}
	if f.Spec, err = envs.EncodeSpec(spec); err != nil {
		t.Fatal(err)
	}
	return f
}

// episode plays an episode, at most a number of steps of it, and returns them.
func (o *opened) episode(t *testing.T, most int) (out []onnxtest.Step) {
	t.Helper()
	spec := o.env.Spec()
	seen, act, outcome := envs.NewObservation(spec), envs.NewAction(spec), envs.NewOutcome(spec)
	check := func(err error) {
		t.Helper()
		must.Do(t, err)
	}
	check(o.env.Reset(1, nil, seen))
	check(o.policy.Reset(1))
	for len(out) < most && !outcome.Terminated && !outcome.Truncated {
		check(o.policy.Act(seen, act, true))
		out = append(out, o.step(seen, act, out))
		check(o.env.Step(act, seen, outcome))
	}
	return out
}

// random returns random observations like those of an episode, and what the policy does, from its reset on.
func (o *opened) random(t *testing.T, ranges *onnxtest.Ranges, draws *rng.Stream, n int) (out []onnxtest.Step) {
	t.Helper()
	must.Do(t, o.policy.Reset(0))
	spec := o.env.Spec()
	seen, act := envs.NewObservation(spec), envs.NewAction(spec)
	for range n {
		ranges.Draw(draws, seen)
		must.Do(t, o.policy.Act(seen, act, true))
		out = append(out, o.step(seen, act, out))
	}
	return out
}

// step copies an observation and an action. before are the steps that led there.
func (o *opened) step(seen *envs.Observation, act *envs.Action, before []onnxtest.Step) onnxtest.Step {
	spec := o.env.Spec()
	s := onnxtest.Step{Seen: copied(spec, seen), Act: envs.NewAction(spec)}
	for i := range act.Kinds {
		copy(s.Act.Kinds[i], act.Kinds[i])
	}
	if o.file.Agent.Name != "firm" {
		return s
	}
	k := &spec.Kinds[0]
	s.Before = make([]float32, k.Agents)
	if len(before) > 0 {
		last, w := before[len(before)-1].Seen.Kinds[0].Values, k.Observation.Width()
		for j := range s.Before {
			s.Before[j] = last[j*w+slices.Index(k.Features, "p95")]
		}
	}
	return s
}

func copied(spec *envs.Spec, o *envs.Observation) *envs.Observation {
	out := envs.NewObservation(spec)
	for i := range o.Kinds {
		from, to := &o.Kinds[i], &out.Kinds[i]
		copy(to.Values, from.Values)
		copy(to.Active, from.Active)
		copy(to.Mask, from.Mask)
		copy(to.Legal, from.Legal)
		for j, g := range from.Graphs {
			to.Graphs[j].CopyFrom(g)
		}
	}
	return out
}
