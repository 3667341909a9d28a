package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/farm"
	"github.com/stoker-rl/stoker/internal/must"
)

// roundExperiments are experiments that learn in rounds: with a value, over job sets that recur, of several agents, and over graphs
// beside a rule.
var roundExperiments = map[string]string{
	"cartpole": `
env: {id: stoker/CartPole-v1}
agent: {name: reinforce, rounds: true, hidden: [5], rows: 16, replay: {trajectories: 9, draw: 2}}
`,
	"deeprm": `
env: {id: stoker/DeepRM-v1, observation: compact, sets: 3}
agent: {name: reinforce, rounds: true, hidden: [4], baseline: sequence, lambda: 1, gamma: 1, rows: 64}
`,
	"spread": `
env: {id: stoker/SimpleSpread-v1, steps: 5}
agent: {name: reinforce, rounds: true, hidden: [4], standardise: true}
`,
	"placement": `
env: {id: stoker/Placement-v2, seconds: 10}
agent: {name: reinforce, rounds: true, graph: {hidden: 4, layers: 1}, baseline: counterfactual, twin: {policy: sjf-nodes, seconds: 5}, lambda: 1}
`,
}

func roundsOf(t testing.TB, name string) string {
	t.Helper()
	return "name: a\nseed: 5\n" + roundExperiments[name] +
		"train: {steps: 600, envs: 5, log_every: 100, evaluate: {every: 200, episodes: 2}, checkpoint: {every: 150}}\n"
}

// Rounds that workers play in parts leave the bytes of those that the run plays itself, for any number of parts and
// workers, and wherever the run is stopped and goes on.
func TestRollouts(t *testing.T) {
	for name := range roundExperiments {
		t.Run(name, func(t *testing.T) {
			text := roundsOf(t, name)
			home := start(t, parse(t, text))
			want := outcome(t, fast{}, home)
			// A run that plays its rounds itself stops in the middle of one, and forgets what it had played of it.
			at, n := t.TempDir(), 1
			for ; n <= 3; n++ {
				_, err := Start(&countdown{t.Context(), 40 * n}, parse(t, text), Options{RunsDir: at, Name: fmt.Sprint(n), Version: "test"})
				if err == nil {
					break
				}
				dir := filepath.Join(at, fmt.Sprint(n))
				must.Get(Resume(t.Context(), dir, Options{Version: "test"}))(t)
				same(t, fmt.Sprintf("stopped after %d looks", 40*n), outcome(t, fast{}, dir), want)
			}
			if n < 3 {
				t.Errorf("%d runs were stopped", n-1)
			}
			for _, c := range []struct{ parts, workers int }{{1, 1}, {2, 2}, {9, 3}} {
				runs := t.TempDir()
				e := away(t, farm.NewLocal(), c.workers, nil)
				o := Options{RunsDir: runs, Name: "a", Version: "test", Until: 300, Elsewhere: e, Rollouts: c.parts}
				res := must.Get(Start(t.Context(), parse(t, text), o))(t)
				if res.Steps < 300 || res.Steps >= 600 && name == "cartpole" {
					t.Errorf("stopped at step %d, want 300 and what the round has more", res.Steps)
				}
				must.Get(Resume(t.Context(), filepath.Join(runs, "a"), Options{Version: "test", Elsewhere: e, Rollouts: c.parts}))(t)
				same(t, fmt.Sprintf("%d parts by %d workers", c.parts, c.workers), outcome(t, fast{}, filepath.Join(runs, "a")), want)
			}
		})
	}
}

// An update learns from one whole episode of each environment, and only steps that were played are counted.
func TestRounds(t *testing.T) {
	r := betweenRounds(t, roundsOf(t, "cartpole"))
	for n := range 5 {
		before := r.state.Steps
		must.Do(t, r.step(t.Context()))
		if got := r.state.Episodes; got != int64(5*(n+1)) {
			t.Fatalf("%d episodes after %d rounds of 5", got, n+1)
		}
		var steps int64
		for _, e := range r.state.Window[len(r.state.Window)-5:] {
			if steps += e.Length; float64(e.Return) != float64(e.Length) { // a reward of 1 a step
				t.Errorf("an episode of %d steps returns %g", e.Length, e.Return)
			}
		}
		if r.state.Steps-before != steps || r.state.RoundSteps != steps {
			t.Errorf("%d steps are counted, and %d of the round, want %d", r.state.Steps-before, r.state.RoundSteps, steps)
		}
		values := map[string]float64{}
		r.world.learner.Metrics(func(name string, x float64) { values[name] = x })
		if values["train/n_updates"] != float64(n+1) {
			t.Errorf("%g updates after %d rounds", values["train/n_updates"], n+1)
		}
	}
}

func betweenRounds(t *testing.T, text string) *run {
	t.Helper()
	w := must.Get(build(parse(t, text), 0, 0))(t)
	t.Cleanup(w.close)
	must.Do(t, w.vector.Reset())
	return &run{opts: Options{}.filled(), dir: t.TempDir(), world: w, phases: newPhases(0), progress: newProgress(io.Discard, false, 0, 1)}
}

// What a worker sends is refused where it is cut or is no part of the round, with nothing learned from it.
func TestTakePlayed(t *testing.T) {
	text := roundsOf(t, "cartpole")
	a, b := betweenRounds(t, text), betweenRounds(t, text)
	a.world.rounds.BeginRound(0)
	p := newPhases(0)
	must.Get(a.world.playRound(&p, func(int64) error { return nil }))(t)
	played := must.Get(a.world.rounds.AppendPlayed(nil))(t)
	state := func() string {
		s := agents.NewState()
		must.Do(t, b.world.learner.Save(s))
		return fmt.Sprint(s)
	}
	before := state()
	for n := range len(played) {
		if err := b.world.rounds.TakePlayed(played[:n]); err == nil {
			t.Fatalf("%d of %d bytes are taken", n, len(played))
		}
	}
	must.Do(t, b.world.learner.Update())
	if state() != before {
		t.Error("what was refused has changed the learner")
	}
	must.Do(t, b.world.rounds.TakePlayed(played))
	b.world.rounds.BeginRound(0)
	must.Do(t, b.world.learner.Update())
	if state() != before {
		t.Error("a round that began anew has changed the learner")
	}
	must.Do(t, b.world.rounds.TakePlayed(played))
	must.Do(t, b.world.learner.Update())
	if state() == before {
		t.Error("what was taken has changed nothing")
	}
}

// breaking is a farm whose workers fail, or whose study ends in the middle.
type breaking struct {
	farm.Farm
	change func(r *farm.Result)
}

func (b breaking) Done(ctx context.Context, l *farm.Lease, r farm.Result) error {
	b.change(&r)
	return b.Farm.Done(ctx, l, r)
}

// A round that fails, or is stopped, leaves the run at its last checkpoint, from which it goes on to the same bytes.
func TestRolloutsFail(t *testing.T) {
	text := roundsOf(t, "spread")
	want := outcome(t, fast{}, start(t, parse(t, text)))
	n := 0
	ctx, stop := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	for name, c := range map[string]struct {
		ctx    context.Context
		change func(r *farm.Result)
		want   string
	}{
		"a worker fails":      {t.Context(), func(r *farm.Result) { r.Error, r.Files = "no memory", nil }, "no memory"},
		"a file is left out":  {t.Context(), func(r *farm.Result) { r.Files = nil }, "0 files of round-7-envs-0-1, want 1"},
		"the run is stopped":  {ctx, func(*farm.Result) { stop(reason) }, "enough"},
		"files are gone once": {t.Context(), func(r *farm.Result) { r.Gone, r.Files = true, nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			runs := t.TempDir()
			n = 0
			f := breaking{farm.NewLocal(), func(r *farm.Result) {
				if n++; n == 15 { // the first part of the eighth round
					c.change(r)
				}
			}}
			e := away(t, f, 1, nil)
			_, err := Start(c.ctx, parse(t, text), Options{RunsDir: runs, Name: "a", Version: "test", Elsewhere: e, Rollouts: 2})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			if c.want != "" {
				must.Get(Resume(t.Context(), filepath.Join(runs, "a"), Options{Version: "test"}))(t)
			}
			same(t, name, outcome(t, fast{}, filepath.Join(runs, "a")), want)
		})
	}
}

// Units of rounds that ask for what there is not are refused, and so are configurations.
func TestRolloutsRefused(t *testing.T) {
	text := roundsOf(t, "cartpole")
	for _, c := range []struct {
		sets []string
		want string
	}{
		{[]string{"agent.rounds=false"}, "does not learn in rounds"},
		{[]string{"wrappers.normalize_observation.clip=10"}, "agent.rounds"},
		{[]string{"agent.cut=5"}, "cut"},
	} {
		x, err := configs.Parse("test.yaml", []byte(text), c.sets, catalog.Default())
		if err == nil {
			_, err = Start(t.Context(), x, Options{RunsDir: t.TempDir(), Rollouts: 2, Elsewhere: &Elsewhere{Farm: farm.NewLocal()}})
		}
		if !errors.Is(err, ErrUsage) && err == nil || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%v: error %v, want %q", c.sets, err, c.want)
		}
	}
	if _, err := Start(t.Context(), parse(t, text), Options{RunsDir: t.TempDir(), Rollouts: 2}); !errors.Is(err, ErrUsage) {
		t.Errorf("without a farm: %v", err)
	}
	f := farm.NewLocal()
	away(t, f, 1, nil)
	e := away(t, f, 0, nil)
	config, _, err := e.Describe(parse(t, text))
	must.Do(t, err)
	policy := must.Get(farm.PutBytes(t.Context(), f, farm.HashOf([]byte("x")), rolloutPolicy, []byte("x")))(t)
	for _, c := range []struct{ config, want string }{
		{`{"experiment": %s, "first": 4, "envs": 2}`, "from 4 on"},
		{`{"experiment": %s, "first": -1, "envs": 2}`, "from -1 on"},
		{`{"experiment": %s, "first": 0, "envs": 0}`, "from 0 on"},
		{`{"experiment": %s, "first": 0, "envs": 2, "policy": {"name": "p", "sha256": "` + string(policy.Hash) + `", "size": 1}}`, "safetensors"},
		{`{"experiment": {"name": "/etc/passwd"}}`, "a path of this machine"},
		{`{"experiment": %s, "frist": 1, "envs": 2}`, "unknown field"},
	} {
		u := farm.Unit{Name: "u", Kind: farm.Rollout, Revision: revision, Kernels: e.Kernels,
			Config: []byte(strings.Replace(c.config, "%s", string(config), 1))}
		must.Do(t, f.Submit(t.Context(), farm.Task{Unit: u}))
		if r := must.Get(f.Result(t.Context()))(t); !strings.Contains(r.Error, c.want) {
			t.Errorf("%.60s…: error %q, want %q", c.config, r.Error, c.want)
		}
	}
}
