package variants

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/internal/must"
)

// own returns a preset and the configuration of an environment for it.
func own(t *testing.T, name string) (EnvConfig, *Model) {
	t.Helper()
	a := must.Get(Preset(name))(t)
	m := must.Get(a.Compile())(t)
	c := DefaultEnv()
	c.Workflow = name + ".yaml"
	return c, m
}

// An application of one's own keeps the contract in every form and world.
func TestOwnContract(t *testing.T) {
	o := envtest.Options{Seeds: []uint64{1, 2}, Steps: 40}
	c, m := own(t, "app4")
	envtest.Run(t, func() (envs.Env, error) { return NewEach(c, m) }, o)
	envtest.Run(t, func() (envs.Env, error) { return New(c, m) }, o)
	c.World, c.Requests, c.Apps = Served, 100, 3
	envtest.Run(t, func() (envs.Env, error) { return NewEach(c, m) }, o)
}

// Every episode is of the application, and problems differ. One without accuracies is never asked for the greatest.
func TestOwnProblems(t *testing.T) {
	for name, objectives := range map[string]int{"app6": 3, "app1": 2} {
		c, m := own(t, name)
		e := must.Get(NewEach(c, m))(t)
		obs := envs.NewObservation(e.Spec())
		problems, seen := map[Problem]bool{}, map[Objective]bool{}
		for seed := range uint64(60) {
			must.Do(t, e.Reset(seed, nil, obs))
			if e.Model().App.Name != name {
				t.Fatalf("seed %d: application %s", seed, e.Model().App.Name)
			}
			problems[e.Problem()], seen[e.Problem().Objective] = true, true
		}
		if len(problems) < 50 || len(seen) != objectives {
			t.Errorf("%s: %d problems of 60 seeds, objectives %v", name, len(problems), seen)
		}
	}
}

// A state fits where the application is the same, wherever its file lies, and no other one.
func TestOwnState(t *testing.T) {
	c, m := own(t, "app3")
	e, err := NewEach(c, m)
	must.Do(t, err)
	must.Do(t, e.Reset(1, nil, envs.NewObservation(e.Spec())))
	state, err := e.AppendBinary(nil)
	must.Do(t, err)
	app, other := *m.App, c
	again, err := app.Compile()
	must.Do(t, err)
	other.Workflow = "elsewhere/app.yaml"
	moved, err := NewEach(other, again)
	must.Do(t, err)
	if err := moved.UnmarshalBinary(state); err != nil {
		t.Errorf("the same application in another file: %v", err)
	}
	app.Delays.Node = 1
	if again, err = app.Compile(); err != nil {
		t.Fatal(err)
	}
	if moved, err = NewEach(c, again); err != nil {
		t.Fatal(err)
	}
	if err := moved.UnmarshalBinary(state); err == nil {
		t.Error("an application with other delays takes the state")
	}
}

// What cannot be is refused, with what would be right.
func TestOwnRefused(t *testing.T) {
	for _, x := range []struct {
		app    string
		change func(*EnvConfig)
		want   string
	}{
		{"app4", func(c *EnvConfig) { c.Functions = []int{3, 3} }, "app4.yaml has 4 functions, and env.functions allows 3"},
		{"app6", func(c *EnvConfig) { c.Options = 5 }, "env.options is 5: want at least 14"},
		{"app1", func(c *EnvConfig) { c.Objective = string(Accuracy) }, "objective is accuracy"},
		{"app1", func(c *EnvConfig) { c.Workflow = "" }, "workflow is empty"},
		{"app1", func(c *EnvConfig) { c.Workflow = Generated }, "workflow is generated"},
	} {
		c, m := own(t, x.app)
		x.change(&c)
		if _, err := NewEach(c, m); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: error %v, want %q", x.app, err, x.want)
		}
	}
	c, m := own(t, "app2")
	a := *m.App
	for i := range a.Functions {
		a.Functions[i] = Function{Name: a.Functions[i].Name, Fixed: true, Seconds: 1}
	}
	fixed := must.Get(a.Compile())(t)
	if _, err := NewEach(c, fixed); err == nil || !strings.Contains(err.Error(), "nothing to choose") {
		t.Errorf("fixed functions alone: %v", err)
	}
}
