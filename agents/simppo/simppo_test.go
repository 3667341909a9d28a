package simppo

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets/native"
)

// newWorkflow returns a workflow. Branch has the functions of Parallel, and load.
func newWorkflow(t testing.TB, flow string) envs.Env {
	t.Helper()
	c := sizing.Default()
	c.Workflow, c.Windows = flow, 4
	w := workload.Default()
	w.Kind = workload.ClosedLoop
	e := must.Get(sizing.New(c, w))(t)
	return e
}

func quick() Config {
	c := Default()
	c.Hidden, c.Rollout, c.Epochs, c.Minibatches = []int{8}, 4, 2, 2
	return c
}

type world struct {
	t testing.TB
	v *envs.Vector
	l *Learner
}

func newWorld(t testing.TB, c Config, flow string) *world {
	t.Helper()
	v := must.Get(envs.NewVector(func() (envs.Env, error) { return newWorkflow(t, flow), nil },
		envs.VectorOptions{NumEnvs: 2, Seed: 3}))(t)
	e := native.New(native.Options{Threads: 1})
	l := must.Get(NewLearner(c, agents.Context{Spec: v.Spec(), NumEnvs: 2, Train: e, Act: e, Seed: 5, Steps: 100}))(t)
	must.Do(t, v.Reset())
	return &world{t, v, l}
}

func (w *world) steps(n int) {
	w.t.Helper()
	for range n {
		for _, do := range []func() error{
			func() error { return w.l.Act(w.v) }, w.v.Step, func() error { return w.l.Observe(w.v) }, w.l.Update,
		} {
			if err := do(); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

func (w *world) state() *agents.State {
	w.t.Helper()
	s := agents.NewState()
	if err := w.l.Save(s); err != nil {
		w.t.Fatal(err)
	}
	return s
}

// rowOf is a function's row of an array.
func rowOf(a agents.Array, names []string, function string) []float32 {
	w := a.Shape[1]
	i := slices.Index(names, function)
	return a.Data[i*w : (i+1)*w]
}

// isMean reports whether a row is the mean of all rows.
func isMean(row []float32, all agents.Array) error {
	for i, x := range row {
		sum := 0.0
		for g := range all.Shape[0] {
			sum += float64(all.Data[g*all.Shape[1]+i])
		}
		if want := float32(sum / float64(all.Shape[0])); x != want {
			return fmt.Errorf("weight %d is %g, want the mean, %g", i, x, want)
		}
	}
	return nil
}

// All functions begin with the same weights, and learn different ones.
func TestOneStart(t *testing.T) {
	w := newWorld(t, quick(), sizing.Parallel)
	for name, a := range w.state().Weights {
		for _, f := range w.l.functions.names[1:] {
			if !slices.Equal(rowOf(a, w.l.functions.names, f), rowOf(a, w.l.functions.names, "starter")) {
				t.Errorf("%s of %s begins otherwise than that of starter", name, f)
			}
		}
	}
	w.steps(8)
	for name, a := range w.state().Weights {
		if slices.Equal(rowOf(a, w.l.functions.names, "resnet"), rowOf(a, w.l.functions.names, "starter")) {
			t.Errorf("%s of resnet and starter are equal after learning", name)
		}
	}
}

// In a workflow with one function more, the policy of a file keeps the weights of the functions that it knows, bit for
// bit, and gives the new one the mean; so do functions that are fewer.
func TestPolicyElsewhere(t *testing.T) {
	w := newWorld(t, quick(), sizing.Parallel)
	w.steps(8)
	p := must.Get(w.l.Policy())(t)
	file := must.Get(p.Export())(t)
	e := native.New(native.Options{Threads: 1})
	for flow, fresh := range map[string][]string{
		sizing.Branch: {"load"}, sizing.Sequential: {"load"}, sizing.Parallel: nil,
	} {
		env := newWorkflow(t, flow)
		k := &env.Spec().Kinds[0]
		q := must.Get(actor.Open(file, env.Spec(), e))(t)
		d := must.Get(actor.Read(file, env.Spec()))(t)
		now, _, err := d.Kinds[0].Regrouped(file, k)
		must.Do(t, err)
		for name, a := range now.Arrays {
			before := file.Arrays[name]
			for _, f := range k.Names {
				row := rowOf(a, k.Names, f)
				if slices.Contains(fresh, f) {
					if err := isMean(row, before); err != nil {
						t.Errorf("%s: %s of %s: %v", flow, name, f, err)
					}
				} else if !slices.Equal(row, rowOf(before, w.l.functions.names, f)) {
					t.Errorf("%s: %s of %s changed", flow, name, f)
				}
			}
		}
		obs, act := envs.NewObservation(env.Spec()), envs.NewAction(env.Spec())
		must.Do(t, env.Reset(1, nil, obs))
		must.Do(t, q.Act(obs, act, true))
		if err := envs.CheckAction(env.Spec(), nil, act); err != nil {
			t.Error(err)
		}
		choicetest.Restores(t, q)
	}
}

// A run that begins with another's weights trains only the new function, if it is told so; a resumed one goes on so.
func TestOnlyNewLearns(t *testing.T) {
	w := newWorld(t, quick(), sizing.Parallel)
	w.steps(8)
	known := w.state()
	c := quick()
	c.Learn = New
	x := newWorld(t, c, sizing.Branch)
	must.Do(t, x.l.Adopt(known))
	adopted := x.state()
	x.steps(8)
	half := x.state()
	x.steps(8)
	y := newWorld(t, c, sizing.Branch)
	must.Do(t, y.l.Load(half))
	y.steps(8)
	for what, learned := range map[string]*agents.State{"trained": x.state(), "resumed": y.state()} {
		for name, a := range learned.Weights {
			for _, f := range x.l.functions.names {
				row := rowOf(a, x.l.functions.names, f)
				if f == "load" {
					if slices.Equal(row, rowOf(adopted.Weights[name], x.l.functions.names, f)) {
						t.Errorf("%s: %s of load did not learn", what, name)
					}
				} else if !slices.Equal(row, rowOf(known.Weights[name], w.l.functions.names, f)) {
					t.Errorf("%s: %s of %s changed", what, name, f)
				}
			}
		}
	}
	for name, a := range adopted.Weights {
		if err := isMean(rowOf(a, x.l.functions.names, "load"), known.Weights[name]); err != nil {
			t.Errorf("%s of load: %v", name, err)
		}
	}
	all := newWorld(t, quick(), sizing.Branch)
	must.Do(t, all.l.Adopt(known))
	all.steps(8)
	for name, a := range all.state().Weights {
		if slices.Equal(rowOf(a, all.l.functions.names, "rgb"), rowOf(known.Weights[name], w.l.functions.names, "rgb")) {
			t.Errorf("%s of rgb did not learn, although all do", name)
		}
	}
}

func TestRefusals(t *testing.T) {
	w := newWorld(t, quick(), sizing.Parallel)
	known := w.state()
	c := quick()
	c.Learn = New
	same := newWorld(t, c, sizing.Parallel)
	if err := same.l.Adopt(known); err == nil || !strings.Contains(err.Error(), "nothing would learn") {
		t.Errorf("nothing new: %v", err)
	}
	branch := newWorld(t, c, sizing.Branch)
	before := branch.state()
	if err := branch.l.Load(known); err == nil || !strings.Contains(err.Error(), "weights of [starter rgb resize update "+
		"resnet mobilenet], want those of [starter rgb load") {
		t.Errorf("another workflow's state: %v", err)
	}
	for name, a := range branch.state().Weights {
		if !slices.Equal(a.Data, before.Weights[name].Data) {
			t.Errorf("what was refused changed %s", name)
		}
	}
	p, err := w.l.Policy()
	must.Do(t, err)
	file, err := p.Export()
	must.Do(t, err)
	ticket := newWorkflow(t, sizing.TcktApp) // decides three numbers
	_, err = actor.Open(file, ticket.Spec(), native.New(native.Options{Threads: 1}))
	if err == nil || !strings.Contains(err.Error(), "trained for the actions") {
		t.Errorf("other widths: %v", err)
	}
}
