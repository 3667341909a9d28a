package firm

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents/online"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/agents/normalise"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets/native"
)

func newWorkflow(t testing.TB, flow string) envs.Env {
	t.Helper()
	c := sizing.Default()
	c.Workflow, c.Windows, c.Features, c.Decide = flow, 4, sizing.PaperFeatures, sizing.Hardware
	w := workload.Default()
	w.Kind = workload.ClosedLoop
	e := must.Get(sizing.New(c, w))(t)
	return e
}

// quick learns from its second window on.
func quick() Config {
	c := Default()
	c.Hidden, c.Batch, c.Replay, c.RandomSteps, c.LearningStarts = []int{8}, 4, 40, 4, 6
	return c
}

// world is a learner with its environments.
type world struct {
	t testing.TB
	v *envs.Vector
	l *Learner
}

func newWorld(t testing.TB, c Config, copies int) *world {
	t.Helper()
	v := must.Get(envs.NewVector(func() (envs.Env, error) { return newWorkflow(t, sizing.Parallel), nil },
		envs.VectorOptions{NumEnvs: copies, Seed: 3}))(t)
	e := native.New(native.Options{Threads: 1})
	l := must.Get(New(c, agents.Context{Spec: v.Spec(), NumEnvs: copies, Train: e, Act: e, Seed: 5, Steps: 100}))(t)
	must.Do(t, v.Reset())
	return &world{t, v, l}
}

func (w *world) step() {
	w.t.Helper()
	for _, do := range []func() error{
		func() error { return w.l.Act(w.v) }, w.v.Step, func() error { return w.l.Observe(w.v) }, w.l.Update,
	} {
		if err := do(); err != nil {
			w.t.Fatal(err)
		}
	}
}

// On the way with the largest sum of percentiles those move that grew most; what lies beside it does not count.
func TestCulprits(t *testing.T) {
	// 0 leads to 1 and 2, both lead to 3; 4 stands alone.
	spec := &envs.Spec{ID: "test/E-v1", Kinds: []envs.Kind{{
		Name: "function", Agents: 5, Observation: envs.Unbounded(2), Action: envs.NewBox(1, 0, 1),
		Features: []string{"last cpu", "p95"}, Actions: []string{"cpu"}, Next: [][]int{{1, 2}, {3}, {3}, {}, {}},
	}}}
	who := must.Get(newCulprits(spec, 2, 1))(t)
	for _, c := range []struct {
		p95, before []float64
		want        []bool
	}{
		// 0-2-3 is the longest; 2 and 0 grew most. 4 is a workflow of its own.
		{[]float64{5, 9, 10, 1, 7}, []float64{1, 0, 2, 1, 7}, []bool{true, false, true, false, true}},
		// 0-1-3, although 2 grew most of all.
		{[]float64{5, 9, 8, 3, 0}, []float64{5, 9, 0, 1, 0}, []bool{true, false, false, true, true}},
		// All fell: the least fall counts, and of equals the earlier.
		{[]float64{5, 9, 8, 3, 0}, []float64{6, 10, 9, 9, 0}, []bool{true, true, false, false, true}},
	} {
		obs := envs.NewObservation(spec)
		act := []float32{0.9, 0.9, 0.9, 0.9, 0.9}
		for j, x := range c.p95 {
			obs.Kinds[0].Values[2*j], obs.Kinds[0].Values[2*j+1] = float32(j)/10, float32(x)
		}
		copy(who.before, c.before)
		must.Do(t, who.Filter(0, &obs.Kinds[0], act))
		if !slices.Equal(who.moves, c.want) || !slices.Equal(who.before, c.p95) {
			t.Errorf("p95 %v after %v: %v move, want %v", c.p95, c.before, who.moves, c.want)
		}
		for j, moves := range c.want {
			if want := float32(j) / 10; !moves && act[j] != want || moves && act[j] != 0.9 {
				t.Errorf("agent %d, which moves: %v, does %g", j, moves, act[j])
			}
		}
	}
}

// While it learns, two functions of each copy move and the others keep what they have; the replay holds what was done.
func TestTwoMove(t *testing.T) {
	w := newWorld(t, quick(), 3)
	n := w.v.Spec().Kinds[0].Agents
	for range 9 {
		w.step()
		for i := range 3 {
			before, act := w.v.Before.Env(i).Kinds[0].Values, w.v.Act.Env(i).Kinds[0]
			moved, held := 0, make([]float32, len(act))
			w.l.Replay().Gather(1, []int64{w.l.Replay().Next() - 3 + int64(i)}, 1, held)
			for j := range n {
				mine := act[3*j : 3*j+3]
				if !slices.Equal(mine, before[10*j:10*j+3]) {
					moved++
				}
				if x := held[3*j : 3*j+3]; !slices.Equal(x, mine) {
					t.Fatalf("the replay has %v for %v", x, mine)
				}
				if slices.Min(mine) < 0.2 || slices.Max(mine) > 0.8 {
					t.Errorf("function %d does %v, want 0.2 to 0.8", j, mine)
				}
			}
			if moved != 2 {
				t.Errorf("%d functions moved, want 2", moved)
			}
		}
	}
}

// The policy of a file does what the learner does without noise, in every episode, and goes on from a saved state.
func TestPolicyActsAsLearner(t *testing.T) {
	c := quick()
	c.Noise, c.NoiseFinal, c.RandomSteps, c.LearningStarts = 0, 0, 0, 1000
	w := newWorld(t, c, 1)
	p := must.Get(w.l.Policy())(t)
	// Statistics of observations change while it learns and are frozen in a policy: a policy is made for each step.
	act := envs.NewAction(w.v.Spec())
	kept := must.Get(p.AppendBinary(nil))(t)
	var last online.Follower = p.(*TrainedPolicy)
	for range 10 {
		seen := envs.NewObservation(w.v.Spec())
		seen.CopyFrom(w.v.Obs.Env(0))
		must.Do(t, w.l.Act(w.v))
		now := must.Get(w.l.Policy())(t)
		must.Do(t, now.(*TrainedPolicy).Follow(last.(envs.Policy)))
		last = now.(*TrainedPolicy)
		must.Do(t, now.Act(seen, act, true))
		if want := w.v.Act.Env(0).Kinds[0]; !slices.Equal(act.Kinds[0], want) {
			t.Fatalf("the policy does %v, the learner %v", act.Kinds[0], want)
		}
		must.Do(t, w.v.Step())
		must.Do(t, w.l.Observe(w.v))
		if w.v.Truncated[0] {
			must.Do(t, now.Reset(1))
		}
	}
	if err := last.Follow(nil); err == nil {
		t.Error("it follows no policy")
	}
	choicetest.Restores(t, p)
	if err := p.UnmarshalBinary(kept); err != nil {
		t.Error(err)
	}
	if again, err := p.AppendBinary(nil); err != nil || !slices.Equal(again, kept) {
		t.Errorf("a restored policy saves another state: %v", err)
	}
}

// Environments that do not show what Firm chooses by are refused by what they lack.
func TestRefusals(t *testing.T) {
	e := native.New(native.Options{Threads: 1})
	lqr, err := classic.NewLQR(classic.DefaultLQR())
	must.Do(t, err)
	_, err = New(Default(), agents.Context{Spec: lqr.Spec(), NumEnvs: 1, Train: e, Act: e})
	if err == nil || !strings.Contains(err.Error(), `sees no "p95", want it`) {
		t.Errorf("LQR: %v", err)
	}
	spec := newWorkflow(t, sizing.Branch).Spec()
	build := func(ctx agents.Context) (agents.Learner, error) { return New(Default(), ctx) }
	_, err = normalise.New(normalise.Options{ObservationClip: 10}, agents.Context{Spec: spec, NumEnvs: 1, Train: e, Act: e},
		build)
	if err == nil || !strings.Contains(err.Error(), "drop wrappers.normalize_observation") {
		t.Errorf("normalised: %v", err)
	}
	alone := *spec
	alone.Kinds = slices.Clone(spec.Kinds)
	alone.Kinds[0].Next = nil
	if _, err := build(agents.Context{Spec: &alone, NumEnvs: 1, Train: e, Act: e}); err == nil ||
		!strings.Contains(err.Error(), "there is no order of the agents") {
		t.Errorf("without an order: %v", err)
	}
	c := Default()
	c.NoiseLow = 0.9
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "noise_high is 0.8, want more than noise_low") {
		t.Errorf("bounds: %v", err)
	}
}

// Acting does not allocate.
func TestNoAllocation(t *testing.T) {
	w := newWorld(t, quick(), 2)
	for range 20 {
		w.step()
	}
	p := must.Get(w.l.Policy())(t)
	act := envs.NewAction(w.v.Spec())
	if n := testing.AllocsPerRun(20, func() {
		must.Do(t, w.l.Act(w.v))
		must.Do(t, p.Act(w.v.Obs.Env(0), act, true))
	}); n > 0 {
		t.Errorf("%g allocations", n)
	}
}
