package rollout

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// actor is a control −gain·x that plays a policy, a tuner or a planner, and remembers what it was told.
type actor struct {
	envs.Policy // what these tests don't call
	gain        float32
	told        []float32
	seeds       []uint64
	sure        []bool
	fail        int // number of the action that fails, 0 for none
	acts        int
}

var errActor = errors.New("no idea")

func (a *actor) Name() string                        { return "gain" }
func (a *actor) Reset(seed uint64) error             { a.seeds = append(a.seeds, seed); return nil }
func (*actor) AppendBinary(b []byte) ([]byte, error) { return b, nil }
func (*actor) UnmarshalBinary([]byte) error          { return nil }

func (a *actor) act(obs *envs.Observation, act *envs.Action) error {
	if a.acts++; a.acts == a.fail {
		return errActor
	}
	act.Kinds[0][0] = min(max(-a.gain*obs.Kinds[0].Values[0], -2), 2)
	return nil
}

func (a *actor) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	if len(a.sure) < cap(a.sure) {
		a.sure = append(a.sure, deterministic)
	}
	return a.act(obs, act)
}
func (a *actor) Propose(obs *envs.Observation, act *envs.Action) error { return a.act(obs, act) }
func (a *actor) Observe(_ *envs.Action, out *envs.Outcome) error {
	a.told = append(a.told, out.Rewards[0][0])
	return nil
}
func (a *actor) Plan(_ envs.Env, obs *envs.Observation, act *envs.Action) error {
	return a.act(obs, act)
}

// tuner and planner hide what an actor is besides.
type tuner struct{ *actor }

func lqr(t testing.TB, steps int) envs.Env {
	t.Helper()
	c := classic.DefaultLQR()
	c.Steps = steps
	e := must.Get(classic.NewLQR(c))(t)
	return e
}

// Whoever acts, the same actions in the same world are the same episode, and every step counts.
func TestAllActorsAreCharged(t *testing.T) {
	p := &actor{gain: 0.6, sure: make([]bool, 0, 100)}
	u, l := &actor{gain: 0.6}, &actor{gain: 0.6}
	var first envs.Episode
	for i, a := range []Actor{{Policy: p}, {Tuner: tuner{u}}, {Planner: l}} {
		e := must.Get(NewRunner(lqr(t, 20)).Episode(a, 5))(t)
		if i == 0 {
			first = e
		}
		if a.Name() != "gain" || e.Seed != 5 || e.Length != 20 || e.Terminated || e.Return != first.Return ||
			!slices.Equal(e.Info, first.Info) {
			t.Errorf("actor %d: episode %+v, want %+v", i, e, first)
		}
	}
	if p.acts != 20 || u.acts != 20 || l.acts != 20 {
		t.Errorf("they acted %d, %d and %d times, want 20", p.acts, u.acts, l.acts)
	}
	// The return is the sum of what the tuner was told, and minus the cost that the environment reports.
	sum := 0.0
	for _, r := range u.told {
		sum += float64(r)
	}
	if len(u.told) != 20 || math.Abs(sum-first.Return) > 1e-12 || math.Abs(first.Return+first.Info[0]) > 1e-5 {
		t.Errorf("return %g, the tuner was told %g in %d steps, cost %g", first.Return, sum, len(u.told), first.Info[0])
	}
	// Draws of actor and world are apart, and the actor's follow from the episode's seed.
	if want := rng.New(5, "actor").Uint64(); !slices.Equal(p.seeds, []uint64{want}) || want == 5 {
		t.Errorf("the policy was reset with %v, want %d", p.seeds, want)
	}
	if slices.Contains(p.sure, false) {
		t.Error("the policy was asked to draw")
	}
}

// A runner serves one episode after another, each as if it were the first.
func TestRunnerServesAgain(t *testing.T) {
	r := NewRunner(lqr(t, 15))
	a := Actor{Policy: &actor{gain: 0.5}}
	episode := func(r *Runner, seed uint64) envs.Episode {
		e := must.Get(r.Episode(a, seed))(t)
		return e
	}
	one, two := episode(r, 1), episode(r, 2)
	if one.Return == two.Return {
		t.Error("two seeds gave the same episode")
	}
	again, fresh := episode(r, 1), episode(NewRunner(lqr(t, 15)), 2)
	if again.Return != one.Return || fresh.Return != two.Return || again.Length != 15 {
		t.Errorf("seed 1 gave %g then %g, seed 2 %g then %g", one.Return, again.Return, two.Return, fresh.Return)
	}
}

// What is told of a step is what was seen, done, and what came of it, in order.
func TestOnStep(t *testing.T) {
	r := NewRunner(lqr(t, 10))
	p := &actor{gain: 0.5, sure: make([]bool, 0, 100)}
	r.Stochastic = true
	n, sum := 0, 0.0
	var before float32
	r.OnStep = func(s Step) {
		seen, after := s.Seen.Kinds[0].Values[0], s.After.Kinds[0].Values[0]
		if s.Number != n || (n > 0 && seen != before) || s.Action.Kinds[0][0] != -0.5*seen || seen == after || s.Env == nil {
			t.Errorf("step %d: seen %g (%g before), done %g, then %g", s.Number, seen, before, s.Action.Kinds[0][0], after)
		}
		before = after
		sum += float64(s.Rewards[0][0])
		if n++; s.Truncated != (n == 10) {
			t.Errorf("step %d: truncated %v", s.Number, s.Truncated)
		}
	}
	e, err := r.Episode(Actor{Policy: p}, 3)
	if err != nil || n != 10 || sum != e.Return {
		t.Errorf("%d steps of %g in all, episode %+v, %v", n, sum, e, err)
	}
	if slices.Contains(p.sure, true) {
		t.Error("the policy was asked not to draw")
	}
}

// Options reach the environment.
func TestOptions(t *testing.T) {
	env := must.Get(classic.NewCartPole(classic.DefaultCartPole()))(t)
	r := NewRunner(env)
	r.Options = envs.Options{"low": 0.04, "high": 0.05}
	r.OnStep = func(s Step) {
		if x := s.Seen.Kinds[0].Values[0]; s.Number == 0 && (x < 0.04 || x > 0.05) {
			t.Errorf("begins at %g, want 0.04 to 0.05", x)
		}
	}
	if _, err := r.Episode(Actor{Policy: &actor{}}, 1); err != nil {
		t.Error(err)
	}
	r.Options = envs.Options{"wind": 1.0}
	if _, err := r.Episode(Actor{Policy: &actor{}}, 1); err == nil || !strings.Contains(err.Error(), "seed 1: ") {
		t.Errorf("an option that doesn't exist gave %v", err)
	}
}

// Errors say who, in which episode, at which step.
func TestErrors(t *testing.T) {
	r := NewRunner(lqr(t, 10))
	if _, err := r.Episode(Actor{Tuner: tuner{&actor{fail: 4}}}, 7); !errors.Is(err, errActor) ||
		!strings.HasPrefix(err.Error(), "gain: seed 7, step 3: ") {
		t.Errorf("a failing tuner gave %v", err)
	}
	// Beyond its bounds: the environment refuses.
	wild := Actor{Policy: &wildPolicy{}}
	if _, err := r.Episode(wild, 7); err == nil || !strings.HasPrefix(err.Error(), "wild: seed 7, step 0: ") ||
		!strings.Contains(err.Error(), "action") {
		t.Errorf("an action outside its space gave %v", err)
	}
	a := &actor{}
	for _, c := range []Actor{{}, {Policy: a, Planner: a}} {
		if _, err := r.Episode(c, 1); err == nil || !strings.Contains(err.Error(), "want one") {
			t.Errorf("actor %+v gave %v", c, err)
		}
	}
	if (Actor{}).Name() != "" {
		t.Error("nobody has a name")
	}
}

type wildPolicy struct{ actor }

func (*wildPolicy) Name() string { return "wild" }
func (*wildPolicy) Act(_ *envs.Observation, act *envs.Action, _ bool) error {
	act.Kinds[0][0] = 1e6
	return nil
}

// An episode allocates what it returns, however many steps it has.
func TestStepsDoNotAllocate(t *testing.T) {
	allocs := func(steps int) float64 {
		r := NewRunner(lqr(t, steps))
		a := Actor{Policy: &actor{gain: 0.5}}
		p := a.Policy.(*actor)
		return testing.AllocsPerRun(20, func() {
			p.seeds = p.seeds[:0]
			must.Get(r.Episode(a, 1))(t)
		})
	}
	if short, long := allocs(5), allocs(500); long != short {
		t.Errorf("an episode of 5 steps allocates %g times, of 500 steps %g times", short, long)
	}
}

func BenchmarkEpisode(b *testing.B) {
	r := NewRunner(lqr(b, 100))
	p := &actor{gain: 0.5}
	b.ReportAllocs()
	for b.Loop() {
		p.seeds = p.seeds[:0]
		must.Get(r.Episode(Actor{Policy: p}, 1))(b)
	}
	b.ReportMetric(float64(100*b.N)/b.Elapsed().Seconds(), "steps/s")
}
