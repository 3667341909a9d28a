package steps

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/internal/must"
)

// only gives the decider of an environment with one request at a time.
func only(d steps.Decider) func() (steps.Decider, error) {
	return func() (steps.Decider, error) { return d, nil }
}

// tally is what a decider came to in the environment.
type tally struct{ cost, missed, ret float64 }

// episodes plays requests of generated workflows in the environment.
func episodes(t testing.TB, d steps.Decider, shape string, slo float64, from, to uint64) (sum tally) {
	t.Helper()
	c := steps.DefaultEnv()
	c.Apps, c.Shape, c.Steps = 4, shape, []int{4, 8}
	c.SLO, c.Miss = []float64{slo, slo}, []float64{5, 5}
	env := must.Get(steps.New(c, steps.Given{}))(t)
	acting := must.Get(NewActing("test", env, only(d)))(t)
	r := rollout.NewRunner(env)
	for seed := from; seed < to; seed++ {
		e := must.Get(r.Episode(rollout.Actor{Planner: acting}, seed))(t)
		sum.ret += e.Return
		for i, q := range env.Spec().Info {
			switch q.Name {
			case "cost":
				sum.cost += e.Info[i] / float64(to-from)
			case "missed":
				sum.missed += e.Info[i] / float64(to-from)
			}
		}
	}
	return sum
}

// Every decider plays in the environment, also those whose options no action says; nobody gets a greater return than who
// knows the draws, and who plans the rest exactly pays less than StepConf.
func TestActing(t *testing.T) {
	deciders := allDeciders(t)
	hindsight := must.Get(NewHindsight(DefaultHindsight()))(t)
	inter := must.Get(NewStepConf(DefaultInter()))(t)
	deciders["inter"] = inter
	bound := episodes(t, hindsight, steps.ChainShape, 1.4, 0, 40)
	got := map[string]tally{}
	for name, d := range deciders {
		got[name] = episodes(t, d, steps.ChainShape, 1.4, 0, 40)
		if got[name].ret > bound.ret+1e-6 && name != "cose" && name != "orion" && name != "vanilla" && name != "inter" {
			t.Errorf("%s returns %g, more than %g with all draws known", name, got[name].ret, bound.ret)
		}
	}
	if got["replan"].cost >= got["stepconf"].cost {
		t.Errorf("replan costs %g, StepConf %g", got["replan"].cost, got["stepconf"].cost)
	}
	if got["vanilla"].cost <= bound.cost {
		t.Errorf("vanilla costs %g, the bound %g", got["vanilla"].cost, bound.cost)
	}
}

// A decider says in which environments it decides, and dp which workflows it does not plan.
func TestActingRefuses(t *testing.T) {
	d := must.Get(NewDP(DefaultDP()))(t)
	if _, err := NewActing("dp", other{}, only(d)); err == nil {
		t.Error("an environment without workflows was taken")
	}
	c := steps.DefaultEnv()
	c.Workflow = "diamond"
	env := must.Get(steps.New(c, steps.Given{}))(t)
	a := must.Get(NewActing("dp", env, only(d)))(t)
	if _, err := rollout.NewRunner(env).Episode(rollout.Actor{Planner: a}, 1); err == nil {
		t.Error("dp planned a diamond")
	}
}

// other is an environment of another kind.
type other struct{ envs.Env }

func (other) Spec() *envs.Spec { return &envs.Spec{ID: "other"} }

// With warm instances a step takes the option that is cheapest with them.
func TestWarm(t *testing.T) {
	w := generated(t, 3, 3, 3, steps.ChainShape)
	s := must.Get(NewStepConf(DefaultStepConf()))(t)
	slo := 1.3 * w.m.Fastest
	at := moment(w.m)
	at.SLO = slo
	step := w.m.Flow.Entry()
	s.Begin(w.m, slo, 0)
	cold := w.m.Option(step, s.Decide(at, step))
	at.Warm[step] = make([]int, len(w.m.Platform.Memory))
	for k := range at.Warm[step] {
		at.Warm[step][k] = w.m.Platform.MaxInstances
	}
	s.Begin(w.m, slo, 0)
	warm := w.m.Option(step, s.Decide(at, step))
	if warm.USD >= cold.USD {
		t.Errorf("with warm instances the option costs %g, without %g", warm.USD, cold.USD)
	}
	for _, o := range w.m.Options[step] {
		want := o.P90 - w.m.Seconds(step, codeOf(t, w.m, step, o), 0.9, o.Instances)
		if got := w.m.Platform.Saved(o.Instances, o.Instances); got < want-0.35 || got > want+0.35 {
			t.Errorf("%d warm instances save %g s, want about %g", o.Instances, got, want)
		}
	}
}

func codeOf(t *testing.T, m *steps.Model, step int, o steps.Option) int {
	t.Helper()
	code := must.Get(m.Pack(step, o.MB, o.Instances, o.Processes))(t)
	return code
}

// In a stream each request has a decider of its own, and pays for what it decides; who knows draws is refused.
func TestActingStream(t *testing.T) {
	c := steps.DefaultEnv()
	c.Apps, c.Requests, c.Rate = 3, 12, []float64{20, 20} // several requests are under way at a time
	env := must.Get(steps.New(c, steps.Given{}))(t)
	made := 0
	a := must.Get(NewActing("stepconf", env, func() (steps.Decider, error) {
		made++
		return NewStepConf(DefaultStepConf())
	}))(t)
	r := rollout.NewRunner(env)
	for seed := range uint64(3) {
		e := must.Get(r.Episode(rollout.Actor{Planner: a}, seed))(t)
		again, err := r.Episode(rollout.Actor{Planner: a}, seed)
		if err != nil || again.Return != e.Return {
			t.Errorf("the same stream returns %g and %g: %v", e.Return, again.Return, err)
		}
		if e.Info[0] > 0.5 {
			t.Errorf("%g of the requests are late", e.Info[0])
		}
	}
	if made < 2 {
		t.Errorf("%d deciders were made, want one for each request under way", made)
	}
	if _, err := NewActing("hindsight", env, func() (steps.Decider, error) {
		return NewHindsight(DefaultHindsight())
	}); err == nil || !strings.Contains(err.Error(), "want env.requests=1") {
		t.Errorf("a bound for requests alone was taken: %v", err)
	}
}

// A decider's requests come to the same in every form of the environment: what an action cannot say it has the
// environment take.
func TestForms(t *testing.T) {
	c := steps.DefaultEnv()
	c.Apps, c.Steps, c.Miss = 3, []int{4, 6}, []float64{5, 5}
	full := c
	full.Form = steps.FullForm
	forms := map[string]func() (envs.Env, error){
		"front": func() (envs.Env, error) { return steps.New(c, steps.Given{}) },
		"full":  func() (envs.Env, error) { return steps.New(full, steps.Given{}) },
		"flat":  func() (envs.Env, error) { return steps.NewFlat(c, steps.Given{}) },
	}
	deciders := allDeciders(t)
	delete(deciders, "dp") // of the three workflows not all are chains
	for name, config := range map[string]StepConfConfig{"inter": DefaultInter(), "intra": DefaultIntra()} {
		d := must.Get(NewStepConf(config))(t)
		deciders[name] = d
	}
	hindsight := must.Get(NewHindsight(DefaultHindsight()))(t)
	deciders["hindsight"] = hindsight
	for name, d := range deciders {
		var want []float64
		for _, form := range []string{"front", "full", "flat"} {
			env := must.Get(forms[form]())(t)
			a, err := NewActing(name, env, only(d))
			if err != nil {
				t.Fatalf("%s, %s: %v", name, form, err)
			}
			var got []float64
			r := rollout.NewRunner(env)
			for seed := range uint64(6) {
				e, err := r.Episode(rollout.Actor{Planner: a}, seed)
				if err != nil {
					t.Fatalf("%s, %s: %v", name, form, err)
				}
				got = append(got, e.Info...)
			}
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: requests come to %v in form %s, to %v in form front", name, got, form, want)
			}
		}
	}
}
