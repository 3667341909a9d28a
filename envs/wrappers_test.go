package envs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// wrap returns a build that wraps what another one gives.
func wrap[E envs.Env](build envtest.Build, w func(envs.Env) (E, error)) envtest.Build {
	return func() (envs.Env, error) {
		e, err := build()
		if err != nil {
			return nil, err
		}
		return w(e)
	}
}

func limited(n int) func(envs.Env) (*envs.TimeLimit, error) {
	return func(e envs.Env) (*envs.TimeLimit, error) { return envs.NewTimeLimit(e, n) }
}

func flat(e envs.Env) (*envs.Flatten, error) { return envs.NewFlatten(e, "test/PlacementFlat-v1") }

// Every wrapper keeps the contract: around several agents, around a graph, around another wrapper.
func TestWrappersKeepTheContract(t *testing.T) {
	for _, c := range []struct {
		name  string
		build envtest.Build
	}{
		{"time limit", wrap(newFaaSConf, limited(6))},
		{"time limit around a graph", wrap(newPlacement, limited(20))},
		{"time limit that never comes", wrap(newOptiServe, limited(20))},
		{"flattened graphs", wrap(newPlacement, flat)},
		{"flattened graphs with a time limit", wrap(wrap(newPlacement, flat), limited(5))},
	} {
		t.Run(c.name, func(t *testing.T) { envtest.Run(t, c.build, envtest.Options{Steps: 60}) })
	}
}

// game steps one environment with random legal actions.
type game struct {
	env     envs.Env
	obs     *envs.Observation
	act     *envs.Action
	out     *envs.Outcome
	sampler *envs.ActionSampler
	stream  *rng.Stream
}

func newGame(t *testing.T, build envtest.Build) *game {
	t.Helper()
	env := must.Get(build())(t)
	s := env.Spec()
	sampler := must.Get(envs.NewActionSampler(s))(t)
	return &game{env, envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s), sampler, rng.NewStream(1, "game")}
}

// episode plays one episode, calling each after Reset and after every step.
func (g *game) episode(t *testing.T, seed uint64, each func()) {
	t.Helper()
	must.Do(t, g.env.Reset(seed, nil, g.obs))
	g.out.Terminated, g.out.Truncated = false, false
	each()
	for !g.out.Terminated && !g.out.Truncated {
		must.Do(t, g.sampler.Sample(g.stream, g.obs, g.act))
		must.Do(t, g.env.Step(g.act, g.obs, g.out))
		each()
	}
}

func TestTimeLimit(t *testing.T) {
	g := newGame(t, wrap(newFaaSConf, limited(6)))
	if n := g.env.Spec().MaxSteps; n != 6 {
		t.Errorf("the spec says %d steps, want 6", n)
	}
	n := -1
	g.episode(t, 1, func() { n++ })
	if n != 6 || !g.out.Truncated || g.out.Terminated {
		t.Errorf("the episode has %d steps, truncated %v, terminated %v", n, g.out.Truncated, g.out.Terminated)
	}
	if err := g.env.Step(g.act, g.obs, g.out); err == nil || !strings.Contains(err.Error(), "time limit of 6 steps") {
		t.Errorf("Step after the limit gives %v", err)
	}
	// A lower limit of the environment's own stays, and the wrapped spec is another one.
	inner := must.Get(newFaaSConf())(t)
	w, err := envs.NewTimeLimit(inner, 100)
	if err != nil || w.Spec().MaxSteps != 15 || w.Spec() == inner.Spec() || w.Unwrap() != inner {
		t.Errorf("limit 100 around 15 gives %d, %v", w.Spec().MaxSteps, err)
	}
	if _, err := envs.NewTimeLimit(inner, 0); err == nil {
		t.Error("a limit of 0 steps was accepted")
	}
}

// What an environment can do beyond the contract is found through all wrappers.
func TestAs(t *testing.T) {
	e := must.Get(wrap(wrap(newFaaSConf, limited(3)), limited(4))())(t)
	if s, ok := envs.As[envs.Sampler](e); !ok || len(s.AppendSamples(0, nil)) != 0 {
		t.Error("the sampler is not found")
	}
	if l, ok := envs.As[*envs.TimeLimit](e); !ok || l.Spec().MaxSteps != 3 {
		t.Error("the time limit is not found")
	}
	if _, ok := envs.As[interface{ Sing() }](e); ok {
		t.Error("something is found that isn't there")
	}
}

// A vector of wrapped environments is saved with what the wrappers know.
func TestWrappedVectorResumes(t *testing.T) {
	opts := envs.VectorOptions{NumEnvs: 3, Seed: 2, Workers: 2}
	build := wrap(newFaaSConf, limited(4))
	a, b := newWalker(t, build, opts), newWalker(t, build, opts)
	a.reset(t)
	a.walk(t, 25)
	saved := must.Get(a.v.AppendBinary(nil))(t)
	must.Do(t, b.v.UnmarshalBinary(saved))
	*b.stream, b.digest = *a.stream, a.digest
	a.walk(t, 25)
	b.walk(t, 25)
	if a.digest != b.digest {
		t.Error("the restored vector goes on otherwise")
	}
}

// Each tuple that may be chosen step by step is one choice of the flattened environment, and the world goes the same
// way.
func TestFlattenIsTheSameWorld(t *testing.T) {
	inner := must.Get(newPlacement())(t)
	other := must.Get(newPlacement())(t)
	f := must.Get(flat(other))(t)
	obs, act, out := envs.NewObservation(inner.Spec()), envs.NewAction(inner.Spec()), envs.NewOutcome(inner.Spec())
	fobs, fact, fout := envs.NewObservation(f.Spec()), envs.NewAction(f.Spec()), envs.NewOutcome(f.Spec())
	sampler := must.Get(envs.NewActionSampler(inner.Spec()))(t)
	must.Do(t, errors.Join(inner.Reset(3, nil, obs), f.Reset(3, nil, fobs)))
	s := rng.NewStream(1, "test")
	for step := 0; !out.Terminated; step++ {
		must.Do(t, sampler.Sample(s, obs, act))
		a := act.Kinds[0]
		joint := (int(a[0])*amounts+int(a[1]))*nodes + int(a[2])
		if !fobs.Kinds[0].Mask[joint] {
			t.Fatalf("step %d: %v is legal step by step and not together", step, a)
		}
		if free := obs.Kinds[0].Graphs[0].Nodes[2].Features[5]; fobs.Kinds[0].Values[window*4+functions*2+5*2+1] != free {
			t.Fatalf("step %d: node 5 has %g free, flattened %g", step, free, fobs.Kinds[0].Values[window*4+functions*2+5*2+1])
		}
		fact.Kinds[0][0] = float32(joint)
		must.Do(t, errors.Join(inner.Step(act, obs, out), f.Step(fact, fobs, fout)))
		if out.Rewards[0][0] != fout.Rewards[0][0] || out.Terminated != fout.Terminated {
			t.Fatalf("step %d: rewards %g and %g", step, out.Rewards[0][0], fout.Rewards[0][0])
		}
	}
	for want, e := range map[string]func() (envs.Env, error){"want graphs": newOptiServe,
		"agents, want one": newFaaSConf} {
		e := must.Get(e())(t)
		if _, err := flat(e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
