package choicetest

import (
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets/native"
)

// turn does what belongs to one step of a learner in a vector.
func turn(l agents.Learner, v *envs.Vector) error {
	if err := l.Act(v); err != nil {
		return err
	}
	if err := v.Step(); err != nil {
		return err
	}
	if err := l.Observe(v); err != nil {
		return err
	}
	return l.Update()
}

// Loop returns what does one step of a learner with seed 1 that plans 20,000, on copies of an environment, after the
// first ones: for measurements of time and of allocations.
func Loop(t testing.TB, copies, first int, env func() (envs.Env, error),
	build func(agents.Context) (agents.Learner, error)) func() {
	t.Helper()
	v, err := envs.NewVector(env, envs.VectorOptions{Copies: copies, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	e := native.New(native.Options{Threads: 1})
	l, err := build(agents.Context{Spec: v.Spec(), Copies: copies, Train: e, Act: e, Seed: 1, Steps: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Reset(); err != nil {
		t.Fatal(err)
	}
	step := func() {
		if err := turn(l, v); err != nil {
			t.Fatal(err)
		}
	}
	for range first {
		step()
	}
	return step
}
