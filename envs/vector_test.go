package envs_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
)

// clock counts steps: episodes last 2, 3 or 4 of them, as their seed says. It shows its seed's remainder by 1,000 and
// its step; a negative action breaks it, and steps last as long as the action says.
type clock struct{ toy }

var clockSpec = envs.Spec{
	ID: "test/Clock-v1", Doc: "Wait.",
	Kinds: []envs.Kind{{Name: "waiter", Agents: 1, Observation: envs.Unbounded(2), Action: envs.NewBox(1, -1, 10)}},
	Step:  envs.Timing{Unit: "step"},
	Info:  []envs.Quantity{{Name: "action", Unit: "one", Reduce: envs.Sum}},
}

var errBroken = errors.New("the clock is broken")

func newClock() (envs.Env, error) { return &clock{toy{spec: &clockSpec}}, nil }

func lasts(seed uint64) uint64 { return 2 + seed%3 }

func (c *clock) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if err := c.begin(seed, options); err != nil {
		return err
	}
	see(obs, float64(seed%1000), 0)
	return nil
}

func (c *clock) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if err := c.admit(nil, act); err != nil {
		return err
	}
	a := act.Kinds[0][0]
	if a < 0 {
		return errBroken
	}
	out.Rewards[0][0], out.Info[0] = a, float64(a)
	over := c.step+1 == lasts(c.seed)
	c.end(out, over && c.seed%2 == 0, over && c.seed%2 == 1, int64(a))
	see(obs, float64(c.seed%1000), float64(c.step))
	return nil
}

func newClocks(t testing.TB, o envs.VectorOptions) *envs.Vector {
	t.Helper()
	v := must.Get(envs.NewVector(newClock, o))(t)
	must.Do(t, v.Reset())
	return v
}

func step(t testing.TB, v *envs.Vector) {
	t.Helper()
	must.Do(t, v.Step())
}

// shown is what copy i shows in a batch: its seed's remainder and its step.
func shown(b *envs.Batch, i int) [2]float32 { return [2]float32(b.Env(i).Kinds[0].Values) }

func first(seed uint64) [2]float32 { return [2]float32{float32(seed % 1000), 0} }
func after(seed uint64, step uint64) [2]float32 {
	return [2]float32{float32(seed % 1000), float32(step)}
}

// SameStep: the step that ends an episode also begins the next one; After keeps what the ended one gave.
func TestSameStep(t *testing.T) {
	v := newClocks(t, envs.VectorOptions{NumEnvs: 3, Seed: 8})
	episode, at := make([]uint64, 3), make([]uint64, 3)
	for n := range 40 {
		for i := range 3 {
			v.Act.Env(i).Kinds[0][0] = float32(n % 4)
		}
		step(t, v)
		finished := v.Finished
		for i := range 3 {
			seed := envs.EpisodeSeed(8, i, episode[i])
			if shown(v.Before, i) != after(seed, at[i]) {
				t.Fatalf("step %d, copy %d acted on %v, want %v", n, i, shown(v.Before, i), after(seed, at[i]))
			}
			at[i]++
			if shown(v.After, i) != after(seed, at[i]) || v.ResetStep[i] {
				t.Fatalf("step %d, copy %d came to %v, want %v", n, i, shown(v.After, i), after(seed, at[i]))
			}
			if v.Rewards[0][i] != float32(n%4) || v.Elapsed[i] != int64(n%4) || v.Info[i] != float64(n%4) {
				t.Fatalf("step %d, copy %d: reward %g, elapsed %d, info %g", n, i, v.Rewards[0][i], v.Elapsed[i], v.Info[i])
			}
			over := at[i] == lasts(seed)
			if v.Terminated[i] != (over && seed%2 == 0) || v.Truncated[i] != (over && seed%2 == 1) {
				t.Fatalf("step %d, copy %d: terminated %v, truncated %v", n, i, v.Terminated[i], v.Truncated[i])
			}
			if !over {
				if shown(v.Obs, i) != shown(v.After, i) {
					t.Fatalf("step %d, copy %d sees %v", n, i, shown(v.Obs, i))
				}
				continue
			}
			if len(finished) == 0 || finished[0].Env != i || finished[0].Seed != seed ||
				finished[0].Length != int64(lasts(seed)) ||
				finished[0].Terminated != v.Terminated[i] || finished[0].Return != finished[0].Info[0] ||
				finished[0].Elapsed != int64(finished[0].Return) {
				t.Fatalf("step %d: finished %+v, want copy %d's episode of seed %d", n, finished, i, seed)
			}
			finished = finished[1:]
			episode[i]++
			at[i] = 0
			if next := envs.EpisodeSeed(8, i, episode[i]); shown(v.Obs, i) != first(next) {
				t.Fatalf("step %d, copy %d sees %v, want the next episode's first %v", n, i, shown(v.Obs, i), first(next))
			}
		}
		if len(finished) != 0 {
			t.Fatalf("step %d: finished %+v, but did not end", n, finished)
		}
	}
}

// NextStep: the step after an episode's end resets, whatever the action; nothing is earned and no time passes.
func TestNextStep(t *testing.T) {
	v := newClocks(t, envs.VectorOptions{NumEnvs: 2, Seed: 5, Autoreset: envs.NextStep})
	episode, resets := make([]uint64, 2), 0
	ended := make([]bool, 2)
	for n := range 40 {
		for i := range 2 {
			v.Act.Env(i).Kinds[0][0] = 1
			if ended[i] {
				v.Act.Env(i).Kinds[0][0] = -1 // would break the clock if it were used
			}
		}
		step(t, v)
		for i := range 2 {
			seed := envs.EpisodeSeed(5, i, episode[i])
			if v.ResetStep[i] != ended[i] {
				t.Fatalf("step %d, copy %d: ResetStep is %v", n, i, v.ResetStep[i])
			}
			if ended[i] {
				episode[i]++
				resets++
				if shown(v.Obs, i) != first(envs.EpisodeSeed(5, i, episode[i])) || v.Rewards[0][i] != 0 || v.Elapsed[i] != 0 ||
					v.Info[i] != 0 ||
					v.Terminated[i] || v.Truncated[i] {
					t.Fatalf("step %d, copy %d: the reset shows %v, reward %g", n, i, shown(v.Obs, i), v.Rewards[0][i])
				}
				if shown(v.Before, i) != after(seed, lasts(seed)) {
					t.Fatalf("step %d, copy %d: before the reset was %v, want the last observation", n, i, shown(v.Before, i))
				}
			}
			if ended[i] = v.Terminated[i] || v.Truncated[i]; ended[i] {
				if shown(v.Obs, i) != after(seed, lasts(seed)) || len(v.Finished) == 0 {
					t.Fatalf("step %d, copy %d: at the end it sees %v", n, i, shown(v.Obs, i))
				}
				for _, e := range v.Finished {
					if e.Env == i && (e.Seed != seed || e.Length != int64(lasts(seed))) {
						t.Fatalf("step %d: finished %+v, want seed %d", n, e, seed)
					}
				}
			}
		}
	}
	if resets < 10 {
		t.Errorf("only %d resets", resets)
	}
}

// Disabled: the caller resets.
func TestDisabled(t *testing.T) {
	v := newClocks(t, envs.VectorOptions{NumEnvs: 1, Seed: 5, Autoreset: envs.Disabled})
	for n := range uint64(5) {
		seed := envs.EpisodeSeed(5, 0, n)
		for !v.Terminated[0] && !v.Truncated[0] {
			step(t, v)
		}
		if len(v.Finished) != 1 || v.Finished[0].Seed != seed || shown(v.Obs, 0) != after(seed, lasts(seed)) {
			t.Fatalf("episode %d: finished %+v, sees %v", n, v.Finished, shown(v.Obs, 0))
		}
		if err := v.Step(); err == nil || !strings.Contains(err.Error(),
			"environment 0: test/Clock-v1: step outside an episode") {
			t.Fatalf("Step after the end gives %v", err)
		}
		must.Do(t, v.ResetEnv(0))
		if shown(v.Obs, 0) != first(envs.EpisodeSeed(5, 0, n+1)) {
			t.Fatalf("episode %d begins with %v", n+1, shown(v.Obs, 0))
		}
		step(t, v)
	}
}

// A copy that fails says so, stays where it is, and goes on when it is given a legal action.
func TestErrorFromOneCopy(t *testing.T) {
	for _, workers := range []int{0, 3} {
		v := newClocks(t, envs.VectorOptions{NumEnvs: 5, Seed: 1, Workers: workers})
		step(t, v)
		stood := make([][2]float32, 5)
		for i := range 5 {
			stood[i] = shown(v.Obs, i)
		}
		v.Act.Env(2).Kinds[0][0] = -1
		v.Act.Env(4).Kinds[0][0] = 11
		err := v.Step()
		if !errors.Is(err, errBroken) || !strings.HasPrefix(err.Error(), "environment 2: ") {
			t.Fatalf("%d workers: error is %v, want copy 2's", workers, err)
		}
		for i := range 5 {
			if failed := i == 2 || i == 4; failed != (shown(v.Obs, i) == stood[i]) {
				t.Errorf("%d workers: copy %d sees %v, saw %v", workers, i, shown(v.Obs, i), stood[i])
			}
		}
		for _, i := range []int{2, 4} {
			if v.Terminated[i] || v.Truncated[i] || v.Rewards[0][i] != 0 || shown(v.After, i) != stood[i] {
				t.Errorf("%d workers: failed copy %d has an outcome", workers, i)
			}
			v.Act.Env(i).Kinds[0][0] = 1
		}
		step(t, v)
		if shown(v.After, 2)[1] != stood[2][1]+1 {
			t.Errorf("%d workers: copy 2 does not go on from where it stood", workers)
		}
	}
}

func TestVectorStepDoesNotAllocate(t *testing.T) {
	for _, mode := range []envs.Autoreset{envs.SameStep, envs.NextStep} {
		for _, workers := range []int{0, 1, 3} {
			for _, s := range systems {
				w := newWalker(t, s.build, envs.VectorOptions{NumEnvs: 4, Seed: 3, Workers: workers, Autoreset: mode})
				w.reset(t)
				w.walk(t, 150)
				if n := testing.AllocsPerRun(50, func() {
					w.choose(t)
					step(t, w.v)
				}); n != 0 {
					t.Errorf("%s, %s, %d workers: a step allocates %g times", s.name, mode, workers, n)
				}
			}
		}
	}
}

func TestWorkersDoNotMatter(t *testing.T) {
	digest := func(workers int) uint64 {
		w := newWalker(t, newFaaSConf, envs.VectorOptions{NumEnvs: 7, Seed: 3, Workers: workers})
		w.reset(t)
		w.walk(t, 60)
		return w.digest
	}
	want := digest(0)
	for _, workers := range []int{1, 2, 3, 7, 100} {
		if digest(workers) != want {
			t.Errorf("%d workers give another result than none", workers)
		}
	}
}

func TestVectorOptionsAreChecked(t *testing.T) {
	if _, err := envs.NewVector(newClock, envs.VectorOptions{}); err == nil ||
		!strings.Contains(err.Error(), "vector of 0 copies") {
		t.Errorf("no copies give %v", err)
	}
	if _, err := envs.NewVector(newClock, envs.VectorOptions{NumEnvs: 1, Autoreset: "Sometimes"}); err == nil ||
		!strings.Contains(err.Error(), `mode "Sometimes"`) {
		t.Errorf("an unknown mode gives %v", err)
	}
	if _, err := envs.NewVector(func() (envs.Env, error) { return nil, errBroken },
		envs.VectorOptions{NumEnvs: 1}); !errors.Is(err, errBroken) {
		t.Errorf("a failing build gives %v", err)
	}
}

// Damaged or foreign vector states are refused, with one line.
func TestVectorStateIsChecked(t *testing.T) {
	for _, s := range systems {
		opts := envs.VectorOptions{NumEnvs: 2, Seed: 3}
		w := newWalker(t, s.build, opts)
		w.reset(t)
		w.walk(t, 3)
		saved := must.Get(w.v.AppendBinary(nil))(t)
		for i := 0; i < len(saved); i += 1 + len(saved)/200 {
			if err := w.v.UnmarshalBinary(saved[:i]); err == nil || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%s: cut to %d of %d bytes: %v", s.name, i, len(saved), err)
			}
		}
		if err := w.v.UnmarshalBinary(append(saved, 0)); err == nil || !strings.Contains(err.Error(), "its header says") {
			t.Errorf("%s: a byte too many gives %v", s.name, err)
		}
		if err := w.v.UnmarshalBinary(saved); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		opts.Seed = 4
		if err := newWalker(t, s.build, opts).v.UnmarshalBinary(saved); err == nil ||
			!strings.Contains(err.Error(), "of seed 3, want 4") {
			t.Errorf("%s: another seed gives %v", s.name, err)
		}
		opts.Seed, opts.NumEnvs = 3, 3
		if err := newWalker(t, s.build, opts).v.UnmarshalBinary(saved); err == nil ||
			!strings.Contains(err.Error(), "2 copies, want 3") {
			t.Errorf("%s: another number of copies gives %v", s.name, err)
		}
	}
}

func BenchmarkVectorStep(b *testing.B) {
	for _, workers := range []int{0, 2} {
		b.Run(map[int]string{0: "in line", 2: "2 workers"}[workers], func(b *testing.B) {
			w := newWalker(b, newFaaSConf, envs.VectorOptions{NumEnvs: 8, Seed: 3, Workers: workers})
			w.reset(b)
			w.choose(b)
			b.ReportAllocs()
			for b.Loop() {
				must.Do(b, w.v.Step())
			}
		})
	}
}

// In rounds a copy whose episode has ended waits, with nobody active, until all have; and a part of a vector plays what the
// whole plays there.
func TestVectorRounds(t *testing.T) {
	whole := must.Get(envs.NewVector(newClock, envs.VectorOptions{NumEnvs: 5, Seed: 3, Autoreset: envs.Rounds}))(t)
	part := must.Get(envs.NewVector(newClock, envs.VectorOptions{NumEnvs: 2, First: 2, Seed: 3, Autoreset: envs.Rounds}))(t)
	part.SetRound(1)
	for range 2 {
		must.Do(t, whole.Reset())
	}
	must.Do(t, part.Reset())
	var seeds [2][]uint64
	for n, v := range []*envs.Vector{whole, part} {
		ended := make([]int, v.NumEnvs())
		for !v.RoundOver() {
			must.Do(t, v.Step())
			for i := range ended {
				over := ended[i] > 0
				if over != v.ResetStep[i] || over && (v.Terminated[i] || v.Truncated[i] || v.Elapsed[i] != 0) {
					t.Fatalf("copy %d: over %v, waits %v", i, over, v.ResetStep[i])
				}
				if v.Terminated[i] || v.Truncated[i] {
					ended[i]++
				}
				if active := slices.Contains(v.Obs.Env(i).Kinds[0].Active, true); active != (ended[i] == 0) {
					t.Fatalf("copy %d ended %d times, active %v", i, ended[i], active)
				}
			}
			for _, e := range v.Finished {
				seeds[n] = append(seeds[n], e.Seed)
			}
		}
		if slices.Contains(ended, 0) || slices.Max(ended) > 1 {
			t.Errorf("episodes ended by copy: %v", ended)
		}
	}
	for _, s := range seeds[1] {
		if !slices.Contains(seeds[0], s) {
			t.Errorf("seed %d of the part is not the whole's", s)
		}
	}
}
