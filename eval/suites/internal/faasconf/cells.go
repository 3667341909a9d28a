package faasconf

import (
	"context"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents/baselines/sizing"
	"github.com/stoker-rl/stoker/agents/online"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	sizingenv "github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/eval/search"
	"github.com/stoker-rl/stoker/eval/suite"
)

// method is one way to search for a configuration.
type method struct {
	name string
	// decide is what it chooses: hybrid or hardware.
	decide string
	// saving is by how many percent FaaSConf is cheaper than it according to the paper; 0 where that is not said.
	saving float64
	// only lists the applications in which it plays; empty is all.
	only []string
	// versions is the number of trained policies, 1 where nothing is trained.
	versions int
	// actor makes the method for an application; version counts from 0.
	actor func(a *app, env envs.Env, version int) (rollout.Actor, error)
}

// cell is a method's results in one scenario, one for each version.
type cell []*search.Result

// field is all methods in all scenarios, measured under one protocol.
type field struct {
	methods []method
	apps    []*app
	users   []int
	cells   map[place]cell
}

type place struct {
	method, app string
	users       int
}

// of is a method's results in a scenario, nil where it does not play.
func (f *field) of(method, app string, users int) cell { return f.cells[place{method, app, users}] }

// play measures all methods in all scenarios, each after the same rows of the application's library.
func play(ctx context.Context, o *suite.Options, stage string, methods []method, apps []*app, s size) (*field, error) {
	users, repetitions := s.users, s.repetitions
	f := &field{methods: methods, apps: apps, users: users, cells: map[place]cell{}}
	type job struct {
		at      place
		m       *method
		a       *app
		version int
	}
	var jobs []job
	for i := range methods {
		m := &methods[i]
		for _, a := range apps {
			if len(m.only) > 0 && !slices.Contains(m.only, a.name) {
				continue
			}
			for _, u := range users {
				at := place{m.name, a.name, u}
				f.cells[at] = make(cell, m.versions)
				for v := range m.versions {
					jobs = append(jobs, job{at, m, a, v})
				}
			}
		}
	}
	return f, o.Each(ctx, stage, len(jobs), func(i int) error {
		j := jobs[i]
		key := fmt.Sprintf("search %s %s %d users, version %d, %d repetitions, %+v", j.m.name, j.a.name, j.at.users, j.version,
			repetitions, s)
		res, err := suite.Memo(o, key, func() (*search.Result, error) {
			return measure(ctx, j.m, j.a, j.at.users, j.version, repetitions)
		})
		if err != nil {
			return fmt.Errorf("%s, %d users: %w", j.a.name, j.at.users, err)
		}
		f.cells[j.at][j.version] = res
		return nil
	})
}

// measure is one method's search in one scenario.
func measure(ctx context.Context, m *method, a *app, users, version, repetitions int) (*search.Result, error) {
	env, err := newEnv(a.name, m.decide, []int{users})
	if err != nil {
		return nil, err
	}
	actor, err := m.actor(a, env, version)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	p := search.Default()
	p.Users, p.Repetitions = users, repetitions
	if p.Library, err = a.libraries[m.decide].Fit(env); err != nil {
		return nil, err
	}
	res, err := search.Run(ctx, env, actor, p)
	if err == nil {
		res.Protocol.Library = nil // it is the application's, and large
	}
	return res, err
}

// prices are a cell's prices of the cheapest feasible configuration, [version][repetition], as the search saw them;
// NaN where it found none.
func (c cell) prices() [][]float64 {
	return c.each(func(r *search.Repetition) float64 {
		if r.Best < 0 {
			return nan
		}
		return r.Windows[r.Best].Price
	})
}

// reliable are the prices of those configurations that kept the thresholds in half of their fresh windows or more.
func (c cell) reliable() [][]float64 {
	out := c.prices()
	for v, row := range c.again() {
		for i, missed := range row {
			if !(missed <= 0.5) { // NaN too
				out[v][i] = nan
			}
		}
	}
	return out
}

// again are the shares of fresh windows in which that configuration missed the thresholds.
func (c cell) again() [][]float64 {
	return c.each(func(r *search.Repetition) float64 { return share(r.Fresh, violated) })
}

// missed are the shares of the search's own windows that missed the thresholds.
func (c cell) missed() [][]float64 {
	return c.each(func(r *search.Repetition) float64 { return share(r.Windows, violated) })
}

// guarded are the shares of the search's own windows that safe exploration decided.
func (c cell) guarded() [][]float64 {
	return c.each(func(r *search.Repetition) float64 {
		return share(r.Windows, func(w search.Window) bool { return w.By == online.BySafe })
	})
}

func violated(w search.Window) bool { return w.Violated }

// share is the share of windows that are so, NaN where there are none.
func share(windows []search.Window, so func(search.Window) bool) float64 {
	var n float64
	for _, w := range windows {
		if so(w) {
			n++
		}
	}
	return n / float64(len(windows))
}

func (c cell) each(value func(*search.Repetition) float64) [][]float64 {
	out := make([][]float64, len(c))
	for v, r := range c {
		for i := range r.Repetitions {
			out[v] = append(out[v], value(&r.Repetitions[i]))
		}
	}
	return out
}

// found is the share of searches that found a feasible configuration.
func (c cell) found() float64 {
	var n, all float64
	for _, r := range c {
		n, all = n+float64(r.Found), all+float64(len(r.Repetitions))
	}
	return n / all
}

// pooled are numbers of all versions and repetitions that are there.
func pooled(x [][]float64) []float64 {
	out := slices.Concat(x...)
	return slices.DeleteFunc(out, func(v float64) bool { return v != v })
}

// By how many percent FaaSConf is cheaper than its rivals, on average (§5.2.1).
const (
	paperFirm     = 24.0
	paperRAMBO    = 23.0
	paperAquatope = 28.0
	paperRandom   = 31.0
)

// withLimit is added to the name of a rival that decides the concurrency limit too. The paper's rivals decide hardware
// alone.
const withLimit = " + limit"

// searches are the paper's rivals that search without learning, each as published and with the limit. Aquatope as
// published asks for the latency alone, and drifts to configurations that refuse most requests; a second one asks for
// every threshold.
func searches() []method {
	var out []method
	for _, r := range []struct {
		name   string
		saving float64
		tuner  func(env envs.Env) (envs.Tuner, error)
	}{
		{"rambo", paperRAMBO, func(env envs.Env) (envs.Tuner, error) { return sizing.NewRAMBO(sizing.DefaultRAMBO(), env) }},
		{"aquatope", paperAquatope, func(env envs.Env) (envs.Tuner, error) { return sizing.NewAquatope(sizing.DefaultAquatope(), env) }},
		{"aquatope, all thresholds", 0, func(env envs.Env) (envs.Tuner, error) {
			c := sizing.DefaultAquatope()
			c.Constraint = "qos"
			return sizing.NewAquatope(c, env)
		}},
		{"random-search", paperRandom, func(env envs.Env) (envs.Tuner, error) {
			return sizing.NewRandomSearch(sizing.DefaultRandomSearch(), env)
		}},
	} {
		m := method{
			name: r.name, decide: sizingenv.Hardware, saving: r.saving, versions: 1,
			actor: func(_ *app, env envs.Env, _ int) (rollout.Actor, error) {
				t, err := r.tuner(env)
				return rollout.Actor{Tuner: t}, err
			},
		}
		out = append(out, m)
		m.name, m.decide, m.only = r.name+withLimit, sizingenv.Hybrid, []string{sizingenv.Parallel}
		out = append(out, m)
	}
	return out
}
