package normalise_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/normalise"
	"github.com/stoker-rl/stoker/agents/replay"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// line is an environment of two agents that see one number each; the second is there in every other episode.
type line struct {
	steps  int
	second bool
	draws  *rng.Stream
}

var lineSpec = envs.Spec{ID: "test/Line-v1", Kinds: []envs.Kind{{Name: "walker", Agents: 2,
	Observation: envs.NewBox(2, -100, 100), Action: envs.NewBox(1, -1, 1)}}}

func (e *line) Spec() *envs.Spec { return &lineSpec }

func (e *line) Reset(seed uint64, _ envs.Options, obs *envs.Observation) error {
	e.steps, e.second, e.draws = 0, seed%2 == 0, rng.NewStream(seed, "line")
	e.see(obs)
	return nil
}

func (e *line) see(obs *envs.Observation) {
	o := &obs.Kinds[0]
	clear(o.Values)
	o.Active[0], o.Active[1] = true, e.second
	for j, here := range o.Active {
		if here {
			o.Values[2*j], o.Values[2*j+1] = float32(20+5*e.draws.Norm()), 3
		}
	}
}

func (e *line) Step(_ *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	e.steps++
	e.see(obs)
	out.Rewards[0][0], out.Rewards[0][1] = float32(50*e.draws.Norm()), 0
	out.Terminated, out.Truncated, out.Elapsed = e.steps == 5, false, 1
	return nil
}

func (*line) CopyFrom(envs.Env) error                 { return nil }
func (e *line) AppendBinary(b []byte) ([]byte, error) { return b, nil }
func (*line) UnmarshalBinary([]byte) error            { return nil }
func newLine() (envs.Env, error)                      { return &line{}, nil }
func (s *still) Observe(v *envs.Vector) error         { s.observe(v); return nil }
func (*still) Act(*envs.Vector) error                 { return nil }
func (*still) Update() error                          { return nil }
func (*still) Metrics(func(string, float64))          {}
func (*still) Replay() *replay.Buffer                 { return nil }
func (*still) Save(s *agents.State) error             { s.Blobs["still"] = nil; return nil }
func (s *still) Load(*agents.State) error             { return s.refuses }
func (*still) Adopt(*agents.State) error              { return nil }
func (s *still) Policy() (agents.Policy, error)       { return &echo{}, nil }
func (*echo) Name() string                            { return "echo" }
func (*echo) Reset(uint64) error                      { return nil }
func (*echo) CopyFrom(envs.Policy) error              { return nil }
func (*echo) AppendBinary(b []byte) ([]byte, error)   { return b, nil }
func (*echo) UnmarshalBinary([]byte) error            { return nil }
func (*echo) Export() (*agents.PolicyFile, error)     { return echoFile, nil }
func (*echo) Act(o *envs.Observation, a *envs.Action, _ bool) error {
	for j := range a.Kinds[0] {
		a.Kinds[0][j] = o.Kinds[0].Values[2*j]
	}
	return nil
}

// still is a learner that does nothing but look.
type still struct {
	observe func(*envs.Vector)
	refuses error // what Load returns
}

// echo is a policy whose actions are what it sees.
type echo struct{}

var echoFile = &agents.PolicyFile{Agent: "still", EnvID: lineSpec.ID,
	Arrays: map[string]agents.Array{"w": {Shape: []int{1}, Data: []float32{4}}}}

var all = normalise.Options{ObservationClip: 1.5, RewardClip: 2, Gamma: 0.9}

func learner(t *testing.T, o normalise.Options, copies int, observe func(*envs.Vector)) *normalise.Learner {
	t.Helper()
	l := must.Get(normalise.New(o, agents.Context{Spec: &lineSpec, NumEnvs: copies, NewEnv: newLine},
		func(ctx agents.Context) (agents.Learner, error) {
			if ctx.NewEnv != nil || ctx.Teacher != nil {
				t.Error("the learner gets copies or teachers, which see other observations")
			}
			if b := ctx.Spec.Kinds[0].Observation.(envs.Box); o.ObservationClip > 0 &&
				b.High[0] != float32(o.ObservationClip) {
				t.Errorf("the learner is told of observations up to %g", b.High[0])
			}
			return &still{observe: observe}, nil
		}))(t)
	return l
}

func vector(t *testing.T, copies, workers int) *envs.Vector {
	t.Helper()
	v := must.Get(envs.NewVector(newLine, envs.VectorOptions{NumEnvs: copies, Workers: workers, Seed: 3}))(t)
	must.Do(t, v.Reset())
	return v
}

func play(t *testing.T, l *normalise.Learner, v *envs.Vector, steps int) {
	t.Helper()
	for range steps {
		for _, f := range []func() error{func() error { return l.Act(v) }, v.Step,
			func() error { return l.Observe(v) }, l.Update} {
			must.Do(t, f())
		}
	}
}

// What the learner sees has mean 0 and deviation 1, within the bound; its rewards are of the size of one over the
// horizon's root; returns of finished episodes are the environment's. The number of workers changes nothing.
func TestLearnerSeesNormalised(t *testing.T) {
	var digests [2]float64
	for i, workers := range []int{1, 3} {
		var n, sum, squares, rewards, largest, raw float64
		v := vector(t, 3, workers)
		l := learner(t, all, 3, func(v *envs.Vector) {
			for _, b := range []*envs.Batch{v.Before, v.After} {
				for j, here := range b.Kinds[0].Active {
					x := float64(b.Kinds[0].Values[2*j])
					if !here && x != 0 {
						t.Fatalf("an agent that is not there sees %g", x)
					}
					if here {
						n++
						sum, squares = sum+x, squares+x*x
						largest = max(largest, math.Abs(x))
					}
				}
			}
			for _, r := range v.Rewards[0] {
				rewards = max(rewards, math.Abs(float64(r)))
			}
			for _, e := range v.Finished {
				raw = max(raw, math.Abs(e.Return))
			}
		})
		play(t, l, v, 400)
		if mean := sum / n; math.Abs(mean) > 0.1 {
			t.Errorf("observations have mean %g", mean)
		}
		if d := math.Sqrt(squares / n); d < 0.8 || d > 1 { // the bound of 1.5 takes some of it
			t.Errorf("observations have deviation %g", d)
		}
		if largest != 1.5 || rewards == 0 || rewards > 2 || raw < 50 {
			t.Errorf("largest observation %g, reward %g, return of an episode %g", largest, rewards, raw)
		}
		digests[i] = squares
	}
	if digests[0] != digests[1] {
		t.Errorf("one worker and three differ: %g, %g", digests[0], digests[1])
	}
}

// The policy acts on the raw observation as the learner saw it, also after it was stored and opened, while the
// learner's statistics go on.
func TestPolicyKeepsItsStatistics(t *testing.T) {
	v := vector(t, 2, 1)
	l := learner(t, all, 2, func(*envs.Vector) {})
	play(t, l, v, 50)
	p := must.Get(l.Policy())(t)
	f := must.Get(p.Export())(t)
	open := func(f *agents.PolicyFile, s *envs.Spec) (agents.Policy, error) {
		if len(f.Arrays) != 1 || s.Kinds[0].Observation.(envs.Box).High[0] != 1.5 {
			t.Errorf("opened with %d arrays for %v", len(f.Arrays), s.Kinds[0].Observation)
		}
		return &echo{}, nil
	}
	q := must.Get(normalise.Open(f, &lineSpec, open))(t)
	obs, act, same := envs.NewObservation(&lineSpec), envs.NewAction(&lineSpec), envs.NewAction(&lineSpec)
	o := &obs.Kinds[0]
	o.Active[0], o.Values[0], o.Values[1], o.Values[2] = true, 23, 3, 7
	check := func(when string) {
		t.Helper()
		must.Do(t, p.Act(obs, act, true))
		must.Do(t, q.Act(obs, same, true))
		if !slices.Equal(act.Kinds[0], same.Kinds[0]) {
			t.Errorf("%s: the policy acts %v, opened again %v", when, act.Kinds[0], same.Kinds[0])
		}
	}
	check("at once")
	before := slices.Clone(act.Kinds[0])
	if x := before[0]; x < 0.3 || x > 0.9 { // (23 − 20)/5
		t.Errorf("23 is seen as %g", x)
	}
	if before[1] != 7 || o.Values[0] != 23 {
		t.Errorf("an absent agent's 7 is seen as %g, and the caller's 23 became %g", before[1], o.Values[0])
	}
	play(t, l, v, 50)
	check("later")
	if !slices.Equal(act.Kinds[0], before) {
		t.Error("the policy changed as learning went on")
	}
	if err := q.CopyFrom(p); err != nil {
		t.Errorf("copy of the same policy: %v", err)
	}
	later := must.Get(l.Policy())(t)
	if err := q.CopyFrom(later); err == nil || !strings.Contains(err.Error(), "other statistics") {
		t.Errorf("copy of another one: %v", err)
	}
	if err := q.CopyFrom(&echo{}); err == nil {
		t.Error("copy of a policy without statistics")
	}
	f.Arrays["normalise.0.scale"] = agents.Array{Shape: []int{1}, Data: []float32{1}}
	if _, err := normalise.Open(f, &lineSpec, open); err == nil ||
		!strings.Contains(err.Error(), `"normalise.0.scale" has 1 numbers, want 2`) {
		t.Errorf("a short array: %v", err)
	}
	f.Arrays["normalise.0.clip"] = agents.Array{Shape: []int{1}, Data: []float32{0}}
	if _, err := normalise.Open(f, &lineSpec, open); err == nil || !strings.Contains(err.Error(), "clip 0") {
		t.Errorf("no bound: %v", err)
	}
	if got, err := normalise.Open(echoFile, &lineSpec, func(*agents.PolicyFile, *envs.Spec) (agents.Policy,
		error) {
		return &echo{}, nil
	}); err != nil || got.Name() != "echo" {
		t.Errorf("a file without statistics: %v", err)
	}
}

// A learner that was saved goes on to the same numbers, and one that adopts has the statistics at once.
func TestStateHasTheStatistics(t *testing.T) {
	v := vector(t, 2, 1)
	var last []float32
	look := func(v *envs.Vector) { last = append(slices.Clone(v.After.Kinds[0].Values), v.Rewards[0]...) }
	a := learner(t, all, 2, look)
	play(t, a, v, 33)
	s := agents.NewState()
	must.Do(t, a.Save(s))
	b := learner(t, all, 2, look)
	must.Do(t, b.Load(s))
	// Both see the same raw step: what it gave is put back for the second.
	must.Do(t, a.Act(v))
	must.Do(t, v.Step())
	after, now, rewards := slices.Clone(v.After.Kinds[0].Values), slices.Clone(v.Obs.Kinds[0].Values), slices.Clone(v.Rewards[0])
	must.Do(t, a.Observe(v))
	want := last
	copy(v.After.Kinds[0].Values, after)
	copy(v.Obs.Kinds[0].Values, now)
	copy(v.Rewards[0], rewards)
	if err := b.Observe(v); err != nil || !slices.Equal(last, want) {
		t.Errorf("restored: %v, %v, want %v", err, last, want)
	}
	c := learner(t, all, 2, look)
	must.Do(t, c.Adopt(s))
	for _, blob := range []string{"normalise.progress", "normalise.seen.0", "normalise.earned.0"} {
		cut := agents.NewState()
		must.Do(t, a.Save(cut))
		delete(cut.Blobs, blob)
		if err := b.Load(cut); err == nil || !strings.Contains(err.Error(), blob) {
			t.Errorf("without %s: %v", blob, err)
		}
	}
}

// Where the inner learner refuses a state, the statistics stay as they were.
func TestRefusedStateChangesNothing(t *testing.T) {
	v := vector(t, 2, 1)
	a := learner(t, all, 2, func(*envs.Vector) {})
	play(t, a, v, 33)
	s, before, after := agents.NewState(), agents.NewState(), agents.NewState()
	must.Do(t, a.Save(s))
	b := learner(t, all, 2, func(*envs.Vector) {})
	must.Do(t, b.Save(before))
	b.Learner.(*still).refuses = errors.New("not this one")
	if err := b.Load(s); err == nil || !strings.Contains(err.Error(), "not this one") {
		t.Errorf("got %v", err)
	}
	must.Do(t, b.Save(after))
	for name, x := range before.Blobs {
		if !slices.Equal(after.Blobs[name], x) {
			t.Errorf("the refused state changed %s", name)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	masked := lineSpec
	masked.Kinds = slices.Clone(lineSpec.Kinds)
	masked.Kinds[0].MaskAfter = func(*envs.KindObservation, int, []float32, []bool) error { return nil }
	none := envs.Spec{ID: "test/None-v1"}
	build := func(agents.Context) (agents.Learner, error) { return &still{}, nil }
	for want, spec := range map[string]*envs.Spec{"masks of kind \"walker\"": &masked, "shows graphs alone": &none} {
		if _, err := normalise.New(all, agents.Context{Spec: spec, NumEnvs: 1}, build); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if _, err := normalise.New(normalise.Options{RewardClip: 1}, agents.Context{Spec: spec, NumEnvs: 1},
			build); err != nil {
			t.Errorf("rewards alone: %v", err)
		}
	}
}
