package reinforce

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/agents/internal/graphstest"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// contrary chooses what pays least, or what pays most with a sign, and counts its episodes as its state.
type contrary struct {
	best     bool
	episodes byte
}

func (c *contrary) Name() string       { return "contrary" }
func (c *contrary) Reset(uint64) error { c.episodes++; return nil }

func (c *contrary) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	o, low := &obs.Kinds[0], obs.Kinds[0].Values[0] < 0 // choices pay 0, 1, 2 on this side, else 2, 1, 0
	order := []int{0, 1, 2}
	if low == c.best {
		slices.Reverse(order)
	}
	for _, i := range order {
		if o.Mask[i] {
			act.Kinds[0][0] = float32(i)
			return nil
		}
	}
	return errors.New("nothing is legal")
}

func (c *contrary) Show(_ envs.Env, obs *envs.Observation, act *envs.Action) error {
	return c.Act(obs, act, true)
}
func (c *contrary) CopyFrom(src envs.Policy) error        { *c = *src.(*contrary); return nil }
func (c *contrary) AppendBinary(b []byte) ([]byte, error) { return append(b, c.episodes), nil }
func (c *contrary) UnmarshalBinary(b []byte) error {
	if len(b) != 1 {
		return errors.New("want a byte")
	}
	c.episodes = b[0]
	return nil
}

func teacherOf(best bool) func(string) (agents.Teacher, error) {
	return func(name string) (agents.Teacher, error) {
		if name != "contrary" {
			return nil, errors.New("no policy " + name)
		}
		return &contrary{best: best}, nil
	}
}

// The policy that imitates does as its teacher, even where that pays least; learning after it improves on it.
func TestImitation(t *testing.T) {
	for _, k := range []struct {
		steps  int64 // of 12,000
		lo, hi float64
	}{{12_000, 0, 0.1}, {200, 0.85, 1}} {
		c := quick()
		c.Imitate = Imitate{Policy: "contrary", Steps: k.steps}
		_, l := choicetest.Train(t, 1, 2, 12_000, 1,
			func() (envs.Env, error) { return choicetest.NewToy(choicetest.Toy{Length: 5}), nil },
			func(ctx agents.Context) (agents.Learner, error) {
				ctx.Teacher = teacherOf(false)
				return New(c, ctx)
			})
		p := must.Get(l.(*Learner).Policy())(t)
		if got := share(t, p); got < k.lo || got > k.hi {
			t.Errorf("imitating for %d steps: between the least and the most that choices pay the policy gets %.2f, want %g to %g", k.steps, got, k.lo, k.hi)
		}
	}
}

// share is where what a policy is paid lies between the worst and the best legal choices.
func share(t *testing.T, p envs.Policy) float64 {
	t.Helper()
	toy := choicetest.NewToy(choicetest.Toy{Length: 5})
	obs, out := envs.NewObservation(toy.Spec()), envs.NewOutcome(toy.Spec())
	pays := func(by envs.Policy) float64 {
		sum, act := 0.0, envs.NewAction(toy.Spec())
		for seed := range uint64(50) {
			must.Do(t, toy.Reset(1<<40+seed, nil, obs))
			for range 5 {
				must.Do(t, errors.Join(by.Act(obs, act, true), toy.Step(act, obs, out)))
				sum += float64(out.Rewards[0][0])
			}
		}
		return sum
	}
	worst, best := pays(&contrary{}), pays(&contrary{best: true})
	return (pays(p) - worst) / (best - worst)
}

// A learner saved within the first episode after imitation resumes with the same weights, with a value or a
// counterfactual baseline.
func TestImitationResumes(t *testing.T) {
	c := quickGraphs()
	c.Imitate, c.Episodes, c.Replay.Trajectories = Imitate{Policy: "pass", Steps: 40}, 2, 4
	testResume(t, c)
	c.Baseline, c.Lambda, c.Twin = Counterfactual, 1, Rule{Policy: "pass", Seconds: 3}
	testResume(t, c)
}

func testResume(t *testing.T, c Config) {
	t.Helper()
	build := func() (*envs.Vector, *Learner) {
		v := must.Get(envs.NewVector(func() (envs.Env, error) { return graphstest.NewToy(7), nil },
			envs.VectorOptions{NumEnvs: 3, Seed: rng.New(1, "x").Uint64()}))(t)
		_, l := choicetest.Train(t, 1, 3, 0, 1, func() (envs.Env, error) { return graphstest.NewToy(7), nil },
			func(ctx agents.Context) (agents.Learner, error) {
				ctx.NewEnv = func() (envs.Env, error) { return graphstest.NewToy(7), nil }
				ctx.Teacher = func(string) (agents.Teacher, error) { return &passer{}, nil }
				return New(c, ctx)
			})
		return v, l.(*Learner)
	}
	run := func(v *envs.Vector, l *Learner, n int) {
		for range n {
			must.Do(t, errors.Join(l.Act(v), v.Step(), l.Observe(v), l.Update()))
		}
	}
	v, l := build()
	must.Do(t, v.Reset())
	run(v, l, 10)
	s := agents.NewState()
	b, err := v.AppendBinary(nil)
	must.Do(t, errors.Join(err, l.Save(s)))
	w, m := build()
	must.Do(t, errors.Join(w.UnmarshalBinary(b), m.Load(s)))
	run(v, l, 20)
	run(w, m, 20)
	one, two := agents.NewState(), agents.NewState()
	must.Do(t, errors.Join(l.Save(one), m.Save(two)))
	for name, a := range one.Weights {
		if !slices.Equal(a.Data, two.Weights[name].Data) {
			t.Errorf("%s differs after resuming", name)
		}
	}
	for name, a := range one.Blobs {
		if !slices.Equal(a, two.Blobs[name]) {
			t.Errorf("%s differs after resuming", name)
		}
	}
	for _, k := range l.store.old {
		if k.imitated {
			t.Error("a teacher's trajectory is kept for replay")
		}
	}
}

// passer takes nothing.
type passer struct{ contrary }

func (p *passer) Act(_ *envs.Observation, act *envs.Action, _ bool) error {
	act.Kinds[0][0], act.Kinds[0][1], act.Kinds[0][2] = graphstest.Things, 0, 0
	return nil
}

func (p *passer) Show(_ envs.Env, obs *envs.Observation, act *envs.Action) error {
	return p.Act(obs, act, true)
}

func TestImitationRefuses(t *testing.T) {
	c := quick()
	c.Imitate = Imitate{Policy: "nobody", Steps: 10}
	for want, teacher := range map[string]func(string) (agents.Teacher, error){"no policy nobody": teacherOf(true),
		"makes no teacher": nil} {
		toy := choicetest.NewToy(choicetest.Toy{Length: 5})
		l := learn(t, quick(), choicetest.Toy{Length: 5}, 0)
		ctx := l.ctx
		ctx.Spec, ctx.Teacher = toy.Spec(), teacher
		if _, err := New(c, ctx); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
