package envs_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
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

func recorded(e envs.Env) (*envs.RecordEpisodeStatistics, error) {
	return envs.NewRecordEpisodeStatistics(e), nil
}

func seen(e envs.Env) (*envs.NormalizeObservation, error) { return envs.NewNormalizeObservation(e, 10) }

func flat(e envs.Env) (*envs.Flatten, error) { return envs.NewFlatten(e, "test/PlacementFlat-v1") }

func earned(e envs.Env) (*envs.NormalizeReward, error) { return envs.NewNormalizeReward(e, 0.9, 10) }

// Every wrapper keeps the contract: around several agents, around a graph, around another wrapper. What is normalised
// depends on what was played before, so that the checks of seeds are left out, but for frozen statistics.
func TestWrappersKeepTheContract(t *testing.T) {
	history := []string{"seeding", "determinism", "independence", "draws", "buffers", "inactive"}
	for _, c := range []struct {
		name  string
		build envtest.Build
		skip  []string
	}{
		{"time limit", wrap(newFaaSConf, limited(6)), nil},
		{"time limit around a graph", wrap(newPlacement, limited(20)), nil},
		{"time limit that never comes", wrap(newOptiServe, limited(20)), nil},
		{"episode statistics", wrap(newStepConf, recorded), nil},
		{"normalised observations", wrap(newFaaSConf, seen), history},
		{"frozen observations", wrap(newFaaSConf, func(e envs.Env) (*envs.NormalizeObservation, error) {
			n, err := envs.NewNormalizeObservation(e, 10)
			if err == nil {
				n.Normalizers()[0].Update([]float32{1, 2, 3, 4, 5, 6, 2, 3, 4, 5, 6, 7})
				n.Freeze()
			}
			return n, err
		}), nil},
		{"flattened graphs", wrap(newPlacement, flat), nil},
		{"graphs pass unchanged", wrap(newPlacement, func(e envs.Env) (*envs.NormalizeObservation, error) {
			return envs.NewNormalizeObservation(e, 10)
		}), nil},
		{"normalised rewards", wrap(newFaaSConf, earned), history},
		{"all of them", wrap(wrap(wrap(wrap(newFaaSConf, limited(5)), recorded), seen), earned), history},
	} {
		t.Run(c.name, func(t *testing.T) { envtest.Run(t, c.build, envtest.Options{Skip: c.skip, Steps: 60}) })
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
	env, err := build()
	if err != nil {
		t.Fatal(err)
	}
	s := env.Spec()
	sampler, err := envs.NewActionSampler(s)
	if err != nil {
		t.Fatal(err)
	}
	return &game{env, envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s), sampler, rng.NewStream(1, "game")}
}

// episode plays one episode, calling each after Reset and after every step.
func (g *game) episode(t *testing.T, seed uint64, each func()) {
	t.Helper()
	if err := g.env.Reset(seed, nil, g.obs); err != nil {
		t.Fatal(err)
	}
	g.out.Terminated, g.out.Truncated = false, false
	each()
	for !g.out.Terminated && !g.out.Truncated {
		if err := g.sampler.Sample(g.stream, g.obs, g.act); err != nil {
			t.Fatal(err)
		}
		if err := g.env.Step(g.act, g.obs, g.out); err != nil {
			t.Fatal(err)
		}
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
	inner, err := newFaaSConf()
	if err != nil {
		t.Fatal(err)
	}
	w, err := envs.NewTimeLimit(inner, 100)
	if err != nil || w.Spec().MaxSteps != 15 || w.Spec() == inner.Spec() || w.Unwrap() != inner {
		t.Errorf("limit 100 around 15 gives %d, %v", w.Spec().MaxSteps, err)
	}
	if _, err := envs.NewTimeLimit(inner, 0); err == nil {
		t.Error("a limit of 0 steps was accepted")
	}
}

func TestRecordEpisodeStatistics(t *testing.T) {
	g := newGame(t, wrap(newStepConf, recorded))
	var got []envs.Episode
	w := g.env.(*envs.RecordEpisodeStatistics)
	w.OnEpisode = func(e *envs.Episode) {
		c := *e
		c.Info = slices.Clone(e.Info)
		got = append(got, c)
	}
	for seed := uint64(5); seed < 7; seed++ {
		var ret, cost float64
		n, elapsed := int64(-1), int64(0)
		g.episode(t, seed, func() {
			if n++; n > 0 {
				ret += float64(g.out.Rewards[0][0])
				cost += g.out.Info[0]
				elapsed += g.out.Elapsed
			}
		})
		e := got[len(got)-1]
		if e.Seed != seed || e.Return != ret || e.Length != n || e.Elapsed != elapsed || e.Info[0] != cost || !e.Terminated {
			t.Errorf("recorded %+v, want seed %d, return %g, length %d, elapsed %d, cost %g", e, seed, ret, n, elapsed, cost)
		}
	}
	if len(got) != 2 {
		t.Errorf("%d episodes were recorded, want 2", len(got))
	}
}

// Observations of present agents, and only those, count; after a while they have mean 0 and deviation 1.
func TestNormalizeObservation(t *testing.T) {
	raw, g := newGame(t, newFaaSConf), newGame(t, wrap(newFaaSConf, seen))
	w := g.env.(*envs.NormalizeObservation)
	want, err := envs.NewNormalizer(6, 10)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(20) {
		var rows [][]float32
		raw.episode(t, seed, func() {
			k := raw.obs.Kinds[0]
			row := slices.Clone(k.Values)
			for j, here := range k.Active {
				if here {
					want.Update(row[6*j : 6*j+6])
				}
			}
			rows = append(rows, row)
		})
		n := 0
		g.episode(t, seed, func() { n++ })
		if n != len(rows) {
			t.Fatalf("seed %d: the wrapped episode has %d observations, the other %d", seed, n, len(rows))
		}
	}
	shift, scale := w.Normalizers()[0].Affine()
	wantShift, wantScale := want.Affine()
	if !slices.Equal(shift, wantShift) || !slices.Equal(scale, wantScale) {
		t.Errorf("statistics are %v, %v, want %v, %v", shift, scale, wantShift, wantScale)
	}
	// Frozen, they stay, and what is seen is the raw observation through them.
	w.Freeze()
	raw.stream, g.stream = rng.NewStream(3, ""), rng.NewStream(3, "")
	var rows []float32
	raw.episode(t, 99, func() { rows = append(rows, raw.obs.Kinds[0].Values...) })
	i := 0
	g.episode(t, 99, func() {
		for j, x := range g.obs.Kinds[0].Values {
			f := j % 6
			y := float32((rows[i] - shift[f]) * scale[f])
			if !g.obs.Kinds[0].Active[j/6] {
				y = 0
			}
			if math.Abs(float64(x-min(max(y, -10), 10))) > 1e-6 {
				t.Fatalf("number %d is seen as %g, want %g", i, x, y)
			}
			i++
		}
	})
	if again, _ := w.Normalizers()[0].Affine(); !slices.Equal(again, wantShift) {
		t.Error("frozen statistics change")
	}
	if b := w.Spec().Kinds[0].Observation.(envs.Box); b.Low[0] != -10 || b.High[5] != 10 {
		t.Errorf("the observation space is %v", b)
	}
	if sizingSpec.Kinds[0].Observation.(envs.Box).High[0] == 10 {
		t.Error("the wrapper changed the wrapped environment's spec")
	}
	if _, err := envs.NewNormalizeObservation(&stepconf{toy{spec: &stepSpec}}, 10); err == nil ||
		!strings.Contains(err.Error(), "normalise in the learner") {
		t.Errorf("masks that read observations give %v", err)
	}
}

// Rewards are divided by the deviation of the discounted returns so far.
func TestNormalizeReward(t *testing.T) {
	const gamma = 0.9
	raw, g := newGame(t, newFaaSConf), newGame(t, wrap(newFaaSConf, earned))
	want, err := envs.NewNormalizer(1, 10)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(5) {
		var rewards, scales []float32
		var returns [sized]float64
		active := make([]bool, sized)
		first := true
		raw.episode(t, seed, func() {
			if !first {
				for j, r := range raw.out.Rewards[0] {
					if active[j] {
						returns[j] = float64(float32(gamma*returns[j] + float64(r)))
						want.Update([]float32{float32(returns[j])})
					}
				}
				_, scale := want.Affine()
				rewards = append(rewards, raw.out.Rewards[0]...)
				scales = append(scales, scale[0])
			}
			first = false
			copy(active, raw.obs.Kinds[0].Active)
		})
		n := -1
		g.episode(t, seed, func() {
			if n++; n == 0 {
				return
			}
			for j, r := range g.out.Rewards[0] {
				y := float32(rewards[(n-1)*sized+j] * scales[n-1])
				if math.Abs(float64(r-min(max(y, -10), 10))) > 1e-5 {
					t.Fatalf("seed %d, step %d: reward of agent %d is %g, want %g", seed, n, j, r, y)
				}
			}
		})
	}
	if _, err := envs.NewNormalizeReward(g.env, 1.5, 10); err == nil {
		t.Error("gamma 1.5 was accepted")
	}
	if _, err := envs.NewNormalizeReward(g.env, 0.9, 0); err == nil {
		t.Error("clip 0 was accepted")
	}
}

// What an environment can do beyond the contract is found through all wrappers.
func TestAs(t *testing.T) {
	e, err := wrap(wrap(newFaaSConf, limited(3)), recorded)()
	if err != nil {
		t.Fatal(err)
	}
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

// A normalised vector is saved with its statistics.
func TestWrappedVectorResumes(t *testing.T) {
	opts := envs.VectorOptions{Copies: 3, Seed: 2, Workers: 2}
	build := wrap(wrap(newFaaSConf, seen), earned)
	a, b := newWalker(t, build, opts), newWalker(t, build, opts)
	a.reset(t)
	a.walk(t, 25)
	saved, err := a.v.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.v.UnmarshalBinary(saved); err != nil {
		t.Fatal(err)
	}
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
	inner, err := newPlacement()
	if err != nil {
		t.Fatal(err)
	}
	other, err := newPlacement()
	if err != nil {
		t.Fatal(err)
	}
	f, err := flat(other)
	if err != nil {
		t.Fatal(err)
	}
	obs, act, out := envs.NewObservation(inner.Spec()), envs.NewAction(inner.Spec()), envs.NewOutcome(inner.Spec())
	fobs, fact, fout := envs.NewObservation(f.Spec()), envs.NewAction(f.Spec()), envs.NewOutcome(f.Spec())
	sampler, err := envs.NewActionSampler(inner.Spec())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(inner.Reset(3, nil, obs), f.Reset(3, nil, fobs)); err != nil {
		t.Fatal(err)
	}
	s := rng.NewStream(1, "test")
	for step := 0; !out.Terminated; step++ {
		if err := sampler.Sample(s, obs, act); err != nil {
			t.Fatal(err)
		}
		a := act.Kinds[0]
		joint := (int(a[0])*amounts+int(a[1]))*nodes + int(a[2])
		if !fobs.Kinds[0].Mask[joint] {
			t.Fatalf("step %d: %v is legal step by step and not together", step, a)
		}
		if free := obs.Kinds[0].Graphs[0].Nodes[2].Features[5]; fobs.Kinds[0].Values[window*4+functions*2+5*2+1] != free {
			t.Fatalf("step %d: node 5 has %g free, flattened %g", step, free, fobs.Kinds[0].Values[window*4+functions*2+5*2+1])
		}
		fact.Kinds[0][0] = float32(joint)
		if err := errors.Join(inner.Step(act, obs, out), f.Step(fact, fobs, fout)); err != nil {
			t.Fatal(err)
		}
		if out.Rewards[0][0] != fout.Rewards[0][0] || out.Terminated != fout.Terminated {
			t.Fatalf("step %d: rewards %g and %g", step, out.Rewards[0][0], fout.Rewards[0][0])
		}
	}
	for want, e := range map[string]func() (envs.Env, error){"want graphs": newOptiServe,
		"agents, want one": newFaaSConf} {
		e, err := e()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := flat(e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
