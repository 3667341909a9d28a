package search_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/eval/search"

	baselines "github.com/stoker-rl/stoker/agents/baselines/sizing"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/sizing/library"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

func closed(t *testing.T, change func(*sizing.Config)) envs.Env {
	t.Helper()
	c, w := sizing.Default(), workload.Default()
	w.Kind, c.Windows = workload.ClosedLoop, 15
	if change != nil {
		change(&c)
	}
	env := must.Get(sizing.New(c, w))(t)
	return env
}

func randomSearch(t *testing.T, env envs.Env) rollout.Actor {
	t.Helper()
	r := must.Get(baselines.NewRandomSearch(baselines.DefaultRandomSearch(), env))(t)
	return rollout.Actor{Tuner: r}
}

func run(t *testing.T, env envs.Env, a rollout.Actor, p search.Protocol) *search.Result {
	t.Helper()
	r := must.Get(search.Run(context.Background(), env, a, p))(t)
	return r
}

func encoded(t *testing.T, r *search.Result) string {
	t.Helper()
	b := must.Get(json.Marshal(r))(t)
	return string(b)
}

func protocol() search.Protocol {
	p := search.Default()
	p.Warm, p.Users = 0, 10
	return p
}

// Random search finds the cheapest feasible of its windows; measured again, its price is the same, and what it seemed to
// keep it does not always keep. The same protocol gives the same bytes.
func TestRandomSearch(t *testing.T) {
	env := closed(t, nil)
	p := protocol()
	r := run(t, env, randomSearch(t, env), p)
	if len(r.Repetitions) != 3 || r.Found == 0 || r.Workflow != sizing.Parallel || r.Seen == nil {
		t.Fatalf("result is %+v", r)
	}
	if r.Repetitions[0].Seed == r.Repetitions[1].Seed {
		t.Error("two repetitions have one seed")
	}
	for _, rep := range r.Repetitions {
		if len(rep.Windows) != 15 || rep.Best >= 0 && len(rep.Fresh) != 20 || rep.Best < 0 && len(rep.Fresh) != 0 {
			t.Fatalf("repetition has %d windows and %d fresh ones, best %d", len(rep.Windows), len(rep.Fresh), rep.Best)
		}
		best := math.Inf(1)
		for _, w := range rep.Windows {
			if !w.Violated {
				best = min(best, w.Price)
			}
		}
		if rep.Best < 0 != math.IsInf(best, 1) || rep.Best >= 0 && rep.Windows[rep.Best].Price != best {
			t.Errorf("best is window %d, but the cheapest feasible costs %g", rep.Best, best)
		}
		latencies := map[float64]bool{}
		for _, w := range rep.Fresh {
			latencies[w.Latency] = true
			if w.Price != best {
				t.Errorf("measured again it costs %g, seen %g", w.Price, best)
			}
		}
		if rep.Best >= 0 && len(latencies) < 15 {
			t.Errorf("20 fresh windows have %d different latencies", len(latencies))
		}
	}
	if again := run(t, env, randomSearch(t, env), p); encoded(t, again) != encoded(t, r) {
		t.Error("the same protocol gives another result")
	}
	p.Seed = 2
	if other := run(t, env, randomSearch(t, env), p); encoded(t, other) == encoded(t, r) {
		t.Error("another seed gives the same result")
	}
	price, found := r.BestSoFar()
	if found[14] != float64(r.Found)/3 || math.Abs(price[14]-r.Seen.Price) > 1e-12 {
		t.Errorf("after 15 windows the best costs %g in %g of repetitions, want %g", price[14], found[14], r.Seen.Price)
	}
}

// recorder is a tuner that remembers what it is told.
type recorder struct {
	told   []string
	warm   [][]string
	seeds  []uint64
	by     string
	action float32
}

func (*recorder) Name() string                          { return "recorder" }
func (r *recorder) Decided() string                     { return r.by }
func (*recorder) AppendBinary(b []byte) ([]byte, error) { return b, nil }
func (*recorder) UnmarshalBinary([]byte) error          { return nil }
func (r *recorder) Reset(seed uint64) error {
	r.told, r.seeds = nil, append(r.seeds, seed)
	return nil
}

func (r *recorder) Propose(_ *envs.Observation, act *envs.Action) error {
	if len(r.warm) < len(r.seeds) {
		r.warm = append(r.warm, r.told)
	}
	for i := range act.Kinds[0] {
		act.Kinds[0][i] = r.action
	}
	return nil
}

func (r *recorder) Observe(act *envs.Action, out *envs.Outcome) error {
	r.told = append(r.told, fmt.Sprint(act.Kinds[0][0], out.Info[0]))
	return nil
}

// Every repetition warms up with the rows that its seed draws, those of the right number of users, and methods with one
// seed get the same.
func TestWarmUp(t *testing.T) {
	env := closed(t, func(c *sizing.Config) { c.Users = []int{10, 15} })
	l := must.Get(library.Make(context.Background(), library.Plan{
		NewEnv: func() (envs.Env, error) {
			return closed(t, func(c *sizing.Config) { c.Users, c.Windows = []int{10, 15}, 5 }), nil
		},
		Rows: 60, Seed: 1, High: 1,
	}))(t)
	p := protocol()
	p.Library, p.Warm, p.Windows, p.Repetitions, p.Fresh = l.Rows, 12, 2, 2, 1
	a, b := &recorder{action: 0.5}, &recorder{action: 0.7, by: "safe"}
	one, two := run(t, env, rollout.Actor{Tuner: a}, p), run(t, env, rollout.Actor{Tuner: b}, p)
	if fmt.Sprint(a.warm) != fmt.Sprint(b.warm) || len(a.warm[0]) != 12 || fmt.Sprint(a.warm[0]) == fmt.Sprint(a.warm[1]) {
		t.Errorf("two methods warmed up with\n%v\n%v", a.warm, b.warm)
	}
	if one.Repetitions[0].Warm != 12 || two.Repetitions[0].Windows[0].By != "safe" {
		t.Errorf("results are %+v, %+v", one.Repetitions[0], two.Repetitions[0])
	}
	have := map[string]bool{}
	for _, r := range library.Users(l.Rows, 10) {
		have[fmt.Sprint(r.Action[0], r.Info[0])] = true
	}
	for _, x := range a.warm[0] {
		if !have[x] {
			t.Errorf("row %s is not of 10 users", x)
		}
	}
	// Nothing is feasible for a configuration that keeps nothing: X, and nothing to measure again.
	x := run(t, env, rollout.Actor{Tuner: &recorder{action: 0}}, p)
	if x.Found != 0 || x.Seen != nil || x.Again != nil || x.Search.Violated != 1 {
		t.Errorf("result is %+v", x)
	}
	table := search.Methods(one, x)
	if err := table.Check(); err != nil || table.Rows[1][4] != "X" || table.Rows[0][4] == "X" {
		t.Errorf("table is %v (%v)", table.Rows, err)
	}
	all := search.Windows(one, x)
	text, err := all.CSV()
	if err != nil || bytes.Count(text, []byte("\n")) != 1+2*2+2*1+2*2 {
		t.Errorf("the windows as CSV are %s (%v)", text, err)
	}
}

// Policies are measured as tuners are.
func TestPolicy(t *testing.T) {
	env := closed(t, nil)
	f := must.Get(baselines.NewFixed(baselines.DefaultFixed(), env))(t)
	p := protocol()
	p.Repetitions = 1
	r := run(t, env, rollout.Actor{Policy: f}, p)
	for _, w := range r.Repetitions[0].Windows {
		if w.Price != r.Repetitions[0].Windows[0].Price {
			t.Errorf("fixed costs %g, then %g", r.Repetitions[0].Windows[0].Price, w.Price)
		}
	}
}

func TestProtocolErrors(t *testing.T) {
	env := closed(t, nil)
	for want, change := range map[string]func(*search.Protocol){
		"windows is 0":    func(p *search.Protocol) { p.Windows = 0 },
		"repetitions is":  func(p *search.Protocol) { p.Repetitions = 0 },
		"env.windows is ": func(p *search.Protocol) { p.Windows = 16 },
		"warm is 40, but the library has no rows of 10 users": func(p *search.Protocol) { p.Warm = 40 },
		"actions of 1 numbers": func(p *search.Protocol) {
			p.Warm, p.Library = 1, []library.Row{{Users: 10, Action: []float32{1}}}
		},
	} {
		p := protocol()
		change(&p)
		if _, err := search.Run(context.Background(), env, randomSearch(t, env), p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	open := must.Get(sizing.New(sizing.Default(), sizing.DefaultWorkload()))(t)
	if _, err := search.Run(context.Background(), open, randomSearch(t, open), protocol()); err == nil ||
		!strings.Contains(err.Error(), "workload.kind: closed-loop") {
		t.Errorf("users under arrivals: %v", err)
	}
	p := protocol()
	p.Users, p.Repetitions, p.Fresh = 0, 1, 2
	if r := run(t, open, randomSearch(t, open), p); len(r.Repetitions[0].Windows) != 15 {
		t.Errorf("under arrivals: %+v", r)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	stop(why)
	if _, err := search.Run(ctx, env, randomSearch(t, env), protocol()); !errors.Is(err, why) {
		t.Errorf("stopped: %v", err)
	}
}
