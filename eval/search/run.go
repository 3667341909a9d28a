// Package search measures methods that search for one configuration while they serve, as FaaSConf's experiments do.
//
// A method gets the same few rows of a library to warm up with, then a number of windows (15), in each of which it
// deploys a configuration and sees what came of it. Its answer is the cheapest configuration that kept the thresholds,
// or none (X). That answer is the best of several noisy measurements and looks better than it is (the winner's curse),
// so it is measured again in fresh windows under other seeds. All methods face the same draws.
//
// [Run] takes any tuner, policy or planner. Not here: comparing policies over whole episodes (package eval), the
// methods themselves (agents/baselines/sizing, agents/online).
package search

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/sizing/library"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/train"
)

// Protocol says how a method is measured. It is the same for all methods of a comparison.
type Protocol struct {
	// Windows is the number of configurations that a method may try, Repetitions how often it starts again.
	Windows     int `json:"windows" range:"[1,2^20]"`
	Repetitions int `json:"repetitions" range:"[1,2^20]"`
	// Fresh is the number of windows in which the best configuration is measured again; 0 leaves that out.
	Fresh int `json:"fresh" range:"[0,2^20]"`
	// Users is the number of closed-loop users; 0 leaves it to the environment.
	Users int `json:"users" range:"[0,2^16]"`
	// Warm is the number of rows of Library that each repetition begins with, drawn without replacement.
	Warm int `json:"warm" range:"[0,2^30]"`
	// Seed names the draws of windows, of fresh windows, of warm-up rows and of methods.
	Seed uint64 `json:"seed"`
	// Library has the rows to warm up with, in the environment's layout; rows of other numbers of users are left out.
	Library []library.Row `json:"-"`
}

// Default is FaaSConf's protocol: 15 windows, three times, after 40 rows; measured again in 20 windows.
func Default() Protocol { return Protocol{Windows: 15, Repetitions: 3, Fresh: 20, Warm: 40, Seed: 1} }

// Validate reports the first wrong number.
func (p *Protocol) Validate() error {
	if err := bounds.Check(p); err != nil {
		return err
	}
	if p.Warm > 0 && len(p.rows()) == 0 {
		return bounds.Errorf("warm", "is %d, but the library has no rows of %d users; want 0, or a library with such rows",
			p.Warm, p.Users)
	}
	return nil
}

// rows are those of the library that fit.
func (p *Protocol) rows() []library.Row {
	if p.Users == 0 {
		return p.Library
	}
	return library.Users(p.Library, p.Users)
}

// Policy returns what makes the policy of a name: a baseline of the catalog with its defaults, or else the policy of a
// run, a checkpoint or the zoo.
func Policy(names *catalog.Catalog, name string) (func(env envs.Env) (envs.Policy, error), error) {
	r, err := names.Baseline(name)
	if err == nil {
		return func(env envs.Env) (envs.Policy, error) {
			a, err := r.New(r.Config(), env)
			if err != nil {
				return nil, err
			}
			if a.Policy == nil {
				return nil, train.Usage("%s is no policy but a search, which needs outcomes; want a policy such as fixed", name)
			}
			return a.Policy, nil
		}, nil
	}
	_, shipped := zoo.Cut(name)
	if _, missing := os.Lstat(name); missing != nil && !shipped {
		return nil, train.Usage("--policy %s: %w; nor is it the folder of a run or a checkpoint", name,
			err)
	}
	t, err := eval.OpenTrained(names, name, nil)
	if err != nil {
		return nil, fmt.Errorf("--policy: %w", err)
	}
	t.Threads = 1
	return func(env envs.Env) (envs.Policy, error) { return t.Policy(env.Spec()) }, nil
}

// Decider is implemented by tuners that say who made the last proposal.
type Decider interface{ Decided() string }

// Run measures an actor in an environment. A tuner is told the warm-up rows before its first proposal, by Observe; a
// policy and a planner get none. The result follows from the protocol, the environment and the actor alone. Where ctx
// ends, Run ends within a window and returns ctx's cause.
func Run(ctx context.Context, env envs.Env, a rollout.Actor, p Protocol) (*Result, error) {
	r, err := newRunner(env, a, p)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	out := &Result{Method: a.Name(), Env: env.Spec().ID, Workflow: r.sizing.Workflow(), Users: p.Users, Protocol: p}
	for i := range p.Repetitions {
		rep, err := r.repetition(ctx, i)
		if err != nil {
			return nil, fmt.Errorf("search: %s: repetition %d: %w", a.Name(), i+1, err)
		}
		out.Repetitions = append(out.Repetitions, rep)
	}
	out.conclude()
	out.Seconds = r.spent.Seconds() / float64(p.Repetitions*p.Windows)
	return out, nil
}

// runner holds the buffers of a measurement.
type runner struct {
	p       Protocol
	env     envs.Env
	sizing  *sizing.Env
	actor   rollout.Actor
	guard   *envs.Guard
	options envs.Options
	rows    []library.Row
	at      map[string]int
	obs     *envs.Observation
	act     *envs.Action
	out     *envs.Outcome
	spent   time.Duration
}

// Places are those of an environment's quantities, by their names.
func Places(spec *envs.Spec, names ...string) (map[string]int, error) {
	at := map[string]int{}
	for _, name := range names {
		i, err := spec.InfoIndex(name)
		if err != nil {
			return nil, err
		}
		at[name] = i
	}
	return at, nil
}

func newRunner(env envs.Env, a rollout.Actor, p Protocol) (*runner, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	e, err := library.One(env)
	if err != nil {
		return nil, err
	}
	s := env.Spec()
	if have := e.Config().Windows; have < p.Windows {
		return nil, fmt.Errorf("env.windows is %d, but a search takes %d windows; want as many at least", have, p.Windows)
	}
	if p.Users > 0 && !e.Closed() {
		return nil, fmt.Errorf("users is %d, but the load of the environment is arrivals; want workload.kind: closed-loop", p.Users)
	}
	r := &runner{
		p: p, env: env, sizing: e, actor: a, guard: envs.NewGuard(s), rows: p.rows(),
		obs: envs.NewObservation(s), act: envs.NewAction(s), out: envs.NewOutcome(s),
	}
	if p.Users > 0 {
		r.options = envs.Options{"users": p.Users}
	}
	r.at, err = Places(s, "price", "violated", "latency", "latency_p95", "success", "successes", "failed")
	if err != nil {
		return nil, err
	}
	if len(r.rows) > 0 && len(r.rows[0].Action) != len(r.act.Kinds[0]) {
		return nil, fmt.Errorf("the library's rows have actions of %d numbers, those of %s have %d: fit the library first",
			len(r.rows[0].Action), s.ID, len(r.act.Kinds[0]))
	}
	return r, nil
}

// repetition searches once and measures the best again.
func (r *runner) repetition(ctx context.Context, number int) (Repetition, error) {
	key := rng.New(r.p.Seed, "search").With(uint64(number))
	rep := Repetition{Seed: key.Uint64(), Best: -1, Windows: make([]Window, 0, r.p.Windows)}
	if err := r.reset(rep.Seed); err != nil {
		return rep, err
	}
	if err := r.resetActor(key.With(1).Uint64()); err != nil {
		return rep, err
	}
	if t := r.actor.Tuner; t != nil {
		for _, row := range library.Pick(r.rows, r.p.Warm, key.With(2).Uint64()) {
			act, out := row.Outcome(r.env.Spec())
			if err := t.Observe(act, out); err != nil {
				return rep, fmt.Errorf("warming up: %w", err)
			}
			rep.Warm++
		}
	}
	for n := range r.p.Windows {
		if ctx.Err() != nil {
			return rep, context.Cause(ctx)
		}
		by, err := r.decide()
		if err != nil {
			return rep, fmt.Errorf("window %d: %w", n+1, err)
		}
		if err := r.step(); err != nil {
			return rep, fmt.Errorf("window %d: %w", n+1, err)
		}
		if t := r.actor.Tuner; t != nil {
			if err := t.Observe(r.act, r.out); err != nil {
				return rep, fmt.Errorf("window %d: %w", n+1, err)
			}
		}
		w := r.window(n, rep.Seed, by)
		if !w.Violated && (rep.Best < 0 || w.Price < rep.Windows[rep.Best].Price) {
			rep.Best, rep.Action = n, slices.Clone(r.act.Kinds[0])
		}
		rep.Windows = append(rep.Windows, w)
	}
	return rep, r.again(ctx, &rep)
}

// again measures the best configuration in fresh windows, the same for all methods and repetitions.
func (r *runner) again(ctx context.Context, rep *Repetition) error {
	if rep.Best < 0 {
		return nil
	}
	key := rng.New(r.p.Seed, "search: fresh windows")
	for n := range r.p.Fresh {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		seed := key.With(uint64(n)).Uint64()
		if err := r.reset(seed); err != nil {
			return err
		}
		copy(r.act.Kinds[0], rep.Action)
		if err := r.step(); err != nil {
			return fmt.Errorf("fresh window %d: %w", n+1, err)
		}
		rep.Fresh = append(rep.Fresh, r.window(n, seed, ""))
	}
	return nil
}

func (r *runner) reset(seed uint64) error {
	if err := r.env.Reset(seed, r.options, r.obs); err != nil {
		return err
	}
	return r.guard.Observation(r.obs)
}

func (r *runner) resetActor(seed uint64) error {
	switch a := r.actor; {
	case a.Policy != nil:
		return a.Policy.Reset(seed)
	case a.Tuner != nil:
		return a.Tuner.Reset(seed)
	case a.Planner != nil:
		return a.Planner.Reset(seed)
	}
	return fmt.Errorf("the actor is no policy, tuner or planner")
}

// decide writes the next action and says who decided, where that is known.
func (r *runner) decide() (by string, err error) {
	begun := time.Now()
	defer func() { r.spent += time.Since(begun) }()
	switch a := r.actor; {
	case a.Policy != nil:
		return "", a.Policy.Act(r.obs, r.act, true)
	case a.Planner != nil:
		return "", a.Planner.Plan(r.env, r.obs, r.act)
	}
	if err := r.actor.Tuner.Propose(r.obs, r.act); err != nil {
		return "", err
	}
	if d, ok := r.actor.Tuner.(Decider); ok {
		by = d.Decided()
	}
	return by, nil
}

func (r *runner) step() error {
	if err := r.env.Step(r.act, r.obs, r.out); err != nil {
		return err
	}
	if err := r.guard.Outcome(r.out); err != nil {
		return err
	}
	return r.guard.Observation(r.obs)
}

// window is the last window's outcome.
func (r *runner) window(number int, seed uint64, by string) Window {
	x := func(name string) float64 { return r.out.Info[r.at[name]] }
	return Window{
		Number: number, Seed: seed, By: by, Price: x("price"), Latency: x("latency"), P95: x("latency_p95"),
		Success: x("success"), Successes: x("successes"), Failed: x("failed"), Violated: x("violated") != 0,
	}
}
