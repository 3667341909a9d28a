package eval

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/internal/must"
)

// The number of workers decides who plays what and when, and nothing else: policies that draw, tuners that remember
// and planners that copy their world give the same numbers, and the summary is the same.
func TestWorkers(t *testing.T) {
	r := request()
	r.Stochastic = true
	one := run(t, r)
	for _, workers := range []int{0, 2, 5, 100} {
		r.Workers = workers
		p := run(t, r)
		if !reflect.DeepEqual(p.Episodes, one.Episodes) || !reflect.DeepEqual(p.Steps, one.Steps) {
			t.Errorf("%d workers give another result than one", workers)
		}
	}
	if again := run(t, r); !reflect.DeepEqual(summary(t, again), summary(t, one)) {
		t.Error("the same result gives another summary")
	}
}

func summary(t *testing.T, p *Played) *Summary {
	t.Helper()
	m := must.Get(Metrics(p.Spec, nil))(t)
	s := must.Get(Summarise(p, Analysis{Metrics: m, Resamples: 1000, Seed: 1}))(t)
	return s
}

// Everybody acts: a good gain, and the planner, which sees the disturbance to come, beat the tuner's search, and
// idleness is worst. A stochastic policy's noise shows only where it is asked for.
func TestOrder(t *testing.T) {
	p := run(t, request())
	cost := map[string]float64{}
	for c, con := range p.Contestants {
		s := must.Get(p.Scores(c, Metric{Name: "cost"}))(t)
		for _, x := range s.Flat() {
			cost[con.Name] += x / float64(len(s.Flat()))
		}
	}
	if !(cost["learned"] < cost["tuner"] && cost["planner"] < cost["tuner"] && cost["tuner"] < cost["idle"]) {
		t.Errorf("mean costs %v", cost)
	}
	r := request()
	r.Stochastic = true
	noisy := run(t, r)
	if reflect.DeepEqual(noisy.Episodes[0], p.Episodes[0]) {
		t.Error("a stochastic policy acts as a deterministic one")
	}
	if !reflect.DeepEqual(noisy.Episodes[1], p.Episodes[1]) || !noisy.Stochastic {
		t.Error("a policy without noise acts otherwise where it may draw")
	}
}

// A contestant with an environment of its own plays there, under the same seeds, and its quantities are that
// environment's; the others are as they are without it.
func TestOwnEnvironment(t *testing.T) {
	alone := run(t, request())
	for _, workers := range []int{1, 5} {
		r := request()
		r.Workers = workers
		r.Contestants[1].NewEnv = newSampled // ends after 20 steps
		p := run(t, r)
		for c := range r.Contestants {
			if same := reflect.DeepEqual(p.Episodes[c], alone.Episodes[c]); same != (c != 1) {
				t.Errorf("%d workers: contestant %d has the same episodes: %t", workers, c, same)
			}
		}
		series, err := p.Series(1, "cost")
		if err != nil || len(series) != r.Traced || len(series[0]) != 20 {
			t.Errorf("series %v, %v, want 20 steps under %d seeds", series, err, r.Traced)
		}
		if _, err := p.Series(1, "coat"); err == nil || !strings.HasPrefix(err.Error(), "idle: ") {
			t.Errorf("a quantity that there is not: %v", err)
		}
	}
	r := request()
	r.Traced = 0
	if _, err := run(t, r).Series(0, "cost"); err == nil || !strings.Contains(err.Error(), "set Request.Traced") {
		t.Errorf("steps that were not traced: %v", err)
	}
}

// Jobs in the shared environment are taken one by one. A contestant with its own stays on as few workers as keep all of them
// busy, so that its environment is made as seldom as possible.
func TestOwnEnvironmentsMade(t *testing.T) {
	for _, c := range []struct{ contestants, workers, most int }{{20, 4, 20}, {4, 4, 4}, {2, 4, 4}, {1, 3, 3}} {
		var made atomic.Int32
		r := request()
		r.Workers, r.NewEnv = c.workers, nil
		idle := r.Contestants[1]
		idle.NewEnv = func() (envs.Env, error) { made.Add(1); return lqr(), nil }
		r.Contestants = slices.Repeat([]Contestant{idle}, c.contestants)
		run(t, r)
		if n := int(made.Load()); n > c.most {
			t.Errorf("%d contestants on %d workers: %d environments were made, want at most %d", c.contestants, c.workers, n, c.most)
		}
	}
}

// Of several failures that of the lowest part is returned, whichever came first; with nothing to do nothing is done.
func TestEach(t *testing.T) {
	for range 20 {
		err := Each(t.Context(), 4, 100, nil, func(_, i int) error {
			if i >= 3 && i < 7 {
				return fmt.Errorf("part %d", i)
			}
			return nil
		})
		if err == nil || err.Error() != "part 3" {
			t.Fatalf("%v, want part 3", err)
		}
	}
	if err := Each(t.Context(), 4, 0, nil, nil); err != nil {
		t.Error(err)
	}
}

// watched notes the draws of each episode.
type watched struct {
	*classic.LQR
	mu   *sync.Mutex
	seen map[uint64][]map[string]float64 // by seed: for each episode the value of each draw
}

func (w *watched) Reset(seed uint64, o envs.Options, obs *envs.Observation) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	draws := map[string]float64{}
	w.seen[seed] = append(w.seen[seed], draws)
	w.TraceDraws(func(purpose string, a, b, c uint64, value float64) {
		draws[fmt.Sprint(purpose, a, b, c)] = value
	})
	return w.LQR.Reset(seed, o, obs)
}

// Every version of every contestant faces the same seeds, and under one seed the same world, draw by draw.
func TestPaired(t *testing.T) {
	w := &watched{mu: &sync.Mutex{}, seen: map[uint64][]map[string]float64{}}
	r := request()
	r.Contestants = r.Contestants[:3] // copies that a planner makes would be watched too
	r.NewEnv = func() (envs.Env, error) { return &watched{lqr(), w.mu, w.seen}, nil }
	run(t, r)
	if len(w.seen) != len(r.Seeds) {
		t.Fatalf("%d seeds were played, want %d", len(w.seen), len(r.Seeds))
	}
	for _, s := range r.Seeds {
		if n := len(w.seen[s]); n != 5 {
			t.Errorf("seed %d was played %d times, want 5: three versions, idle, tuner", s, n)
		}
		for _, draws := range w.seen[s] {
			if len(draws) != 51 || !reflect.DeepEqual(draws, w.seen[s][0]) {
				t.Errorf("seed %d: episodes differ in their %d draws", s, len(draws))
			}
		}
	}
}

// An error names contestant, training seed and workload seed, and is the same for any number of workers.
func TestErrors(t *testing.T) {
	bad := errors.New("the policy's own fault")
	r := request()
	fails := func(from int) []Version {
		return policy(func() *gain {
			return &gain{each: func(step int) error {
				if step == from {
					return bad
				}
				return nil
			}}
		})
	}
	r.Contestants[0].Versions[1].New = fails(7)[0].New
	r.Contestants[1].Versions = fails(0)
	for _, workers := range []int{1, 3, 8} {
		r.Workers = workers
		p, err := Run(t.Context(), r)
		if p != nil || !errors.Is(err, bad) {
			t.Fatalf("%d workers: %v, %v", workers, p, err)
		}
		// The first episode of every contestant comes before the second version of any.
		if want := "idle: gain: seed 1, step 0: " + bad.Error(); err.Error() != want {
			t.Errorf("%d workers: %q, want %q", workers, err, want)
		}
	}
}

// What cannot be played is refused before anything is, or says whose fault it is.
func TestRefusals(t *testing.T) {
	none := errors.New("no environment today")
	for name, c := range map[string]struct {
		change func(*Request)
		want   string
	}{
		"no environment":  {func(r *Request) { r.NewEnv = nil }, "NewEnv"},
		"bad environment": {func(r *Request) { r.NewEnv = func() (envs.Env, error) { return nil, none } }, none.Error()},
		"bad environment of one": {func(r *Request) {
			r.Contestants[2].NewEnv = func() (envs.Env, error) { return nil, none }
		}, none.Error()},
		"nobody":    {func(r *Request) { r.Contestants = nil }, "0 contestants"},
		"no seeds":  {func(r *Request) { r.Seeds = nil }, "under 0 workload seeds"},
		"twice":     {func(r *Request) { r.Seeds = []uint64{1, 2, 1} }, "workload seed 1 is given twice"},
		"same name": {func(r *Request) { r.Contestants[1].Name = "learned" }, "two contestants are called learned"},
		"no name":   {func(r *Request) { r.Contestants[1].Name = "" }, "has no name"},
		"no kind": {func(r *Request) { r.Contestants[1].Kind = "clever" },
			`idle is of kind "clever", want one of ["learned" "heuristic" "oracle"]`},
		"no versions": {func(r *Request) { r.Contestants[1].Versions = nil }, "idle has no versions"},
		"no maker":    {func(r *Request) { r.Contestants[1].Versions = []Version{{}} }, "idle, version 0: New is missing"},
		"seed twice": {func(r *Request) { r.Contestants[0].Versions[1].TrainingSeed = 1 },
			"learned has training seed 1 twice"},
		"nobody acts": {func(r *Request) {
			r.Contestants[1].Versions = []Version{{New: func(envs.Env) (rollout.Actor, error) { return rollout.Actor{}, nil }}}
		}, "idle: it is 0 of policy, tuner and planner"},
		"two act": {func(r *Request) {
			r.Contestants[1].Versions = []Version{{New: func(envs.Env) (rollout.Actor, error) {
				return rollout.Actor{Policy: &gain{}, Tuner: &tuner{}}, nil
			}}}
		}, "idle: it is 2 of policy, tuner and planner"},
		"maker fails": {func(r *Request) {
			r.Contestants[1].Versions = []Version{{New: func(envs.Env) (rollout.Actor, error) { return rollout.Actor{}, none }}}
		}, "idle: " + none.Error()},
		"bad action": {func(r *Request) {
			r.NewEnv = func() (envs.Env, error) {
				c := classic.DefaultLQR()
				c.Bound = 0.1
				return classic.NewLQR(c)
			}
		}, "learned, training seed 1: gain: seed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := request()
			c.change(&r)
			if _, err := Run(t.Context(), r); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one with %q", err, c.want)
			}
		})
	}
}

// Cancelling ends the episode under way, not only the next, for whoever acts.
func TestCancel(t *testing.T) {
	why := errors.New("stopped by the user")
	for _, kind := range []string{"policy", "tuner", "planner"} {
		for _, workers := range []int{1, 4} {
			ctx, cancel := context.WithCancelCause(t.Context())
			var mu sync.Mutex
			acted := 0
			each := func(int) error {
				mu.Lock()
				defer mu.Unlock()
				if acted++; acted == 3 {
					cancel(why)
				}
				return nil
			}
			actor := map[string]rollout.Actor{
				"policy": {Policy: &gain{each: each}}, "tuner": {Tuner: &tuner{gain: gain{each: each}}},
				"planner": {Planner: calling{newPlanner(lqr()), each}},
			}[kind]
			r := Request{NewEnv: newLQR, Seeds: seeds(100), Workers: workers,
				Contestants: []Contestant{{Name: kind, Kind: catalog.Heuristic, Versions: []Version{{
					New: func(envs.Env) (rollout.Actor, error) {
						if workers == 1 {
							return actor, nil
						}
						return rollout.Actor{Policy: &gain{each: each}}, nil
					}}}}}}
			_, err := Run(ctx, r)
			if !errors.Is(err, why) {
				t.Errorf("%s, %d workers: error is %v, want the context's cause", kind, workers, err)
			}
			if acted > 3+workers {
				t.Errorf("%s, %d workers: acted %d times, although cancelled at the third", kind, workers, acted)
			}
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := Run(ctx, request()); !errors.Is(err, why) {
		t.Errorf("cancelled before it began: %v", err)
	}
}

type calling struct {
	*planner
	each func(int) error
}

func (c calling) Plan(env envs.Env, obs *envs.Observation, act *envs.Action) error {
	if err := c.each(0); err != nil {
		return err
	}
	return c.planner.Plan(env, obs, act)
}

func TestProgress(t *testing.T) {
	r := request()
	r.Workers = 3
	var told []int
	r.Progress = func(p Progress) {
		if p.All != 60 {
			t.Errorf("of %d, want 60: six versions under ten seeds", p.All)
		}
		told = append(told, p.Done)
	}
	run(t, r)
	if len(told) != 60 || !slices.IsSorted(told) || told[59] != 60 {
		t.Errorf("progress %v", told)
	}
}

// sampled reports a distribution: the state after each step.
type sampled struct {
	*classic.LQR
	spec *envs.Spec
	x    float64
}

func newSampled() (envs.Env, error) {
	e := lqr()
	s := *e.Spec()
	s.Samples = []envs.Quantity{{Name: "state"}}
	return envs.NewTimeLimit(&sampled{LQR: e, spec: &s}, 20)
}

func (s *sampled) Spec() *envs.Spec { return s.spec }

func (s *sampled) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	err := s.LQR.Step(act, obs, out)
	s.x = float64(obs.Kinds[0].Values[0])
	return err
}

func (s *sampled) AppendSamples(_ int, dst []float64) []float64 { return append(dst, s.x) }

// Steps and samples are those of the first version under the first seeds, in order, also where the environment is
// wrapped.
func TestTraces(t *testing.T) {
	r := request()
	r.NewEnv = newSampled
	r.Contestants = r.Contestants[:2]
	r.Workers = 4
	p := run(t, r)
	for c := range p.Contestants {
		if len(p.Steps[c]) != 2*20 || len(p.Samples[c]) != 1 || len(p.Samples[c][0]) != 2*20 {
			t.Fatalf("%d steps and %d samples, want 20 of each of two seeds", len(p.Steps[c]), len(p.Samples[c]))
		}
		for seed := range 2 {
			sum := 0.0
			for n := range 20 {
				row := p.Steps[c][20*seed+n]
				if row.Seed != r.Seeds[seed] || row.Step != n {
					t.Errorf("row %d is of seed %d, step %d", 20*seed+n, row.Seed, row.Step)
				}
				sum += row.Reward
			}
			if e := p.Episodes[c][0][seed]; sum-e.Return > 1e-9 || e.Return-sum > 1e-9 {
				t.Errorf("rewards of the steps sum to %g, the return is %g", sum, e.Return)
			}
		}
	}
	r.Traced = 0
	if p := run(t, r); len(p.Steps[0]) != 0 || len(p.Samples[0]) != 0 {
		t.Error("steps are kept although none were asked for")
	}
}
