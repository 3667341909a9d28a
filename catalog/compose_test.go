package catalog_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"

	baselines "github.com/stoker-rl/stoker/agents/baselines/pricing"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/agents/spsa"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

var schedulerNames = []string{"arms", "torpor", "has-gpu", "mqfq-sticky"}

// on is a short configuration in which a scheduler plays inside, on its own terms.
func on(t testing.TB, scheduler string) *pricing.Config {
	t.Helper()
	c := pricing.Default()
	c.Windows, c.Slots, c.Demand.Start = 3, 20, 8
	must.Do(t, baselines.Terms(scheduler, &c))
	return &c
}

func priced(t testing.TB, c *pricing.Config) *pricing.Pricing {
	t.Helper()
	e := must.Get(catalog.Default().NewEnv(pricing.ID, c, workload.Default()))(t)
	p, ok := envs.As[*pricing.Pricing](e)
	if !ok {
		t.Fatalf("NewEnv gives a %T", e)
	}
	return p
}

// A configuration alone puts each scheduler inside the pricing face, where it does what it does in its own: both come
// to the same accounts.
func TestSchedulersByName(t *testing.T) {
	for _, name := range schedulerNames {
		t.Run(name, func(t *testing.T) {
			c := on(t, name)
			p := priced(t, c)
			s := must.Get(pricing.NewSlots(*c, workload.Default(), nil))(t)
			r := must.Get(catalog.Default().Baseline(name))(t)
			actor := must.Get(r.New(r.Config(), s))(t)
			inside := must.Get(rollout.NewRunner(p).Episode(rollout.Actor{Policy: pricing.NewStatic(c)}, 3))(t)
			alone := must.Get(rollout.NewRunner(s).Episode(actor, 3))(t)
			for i, q := range p.Spec().Info {
				a, b := inside.Info[i], alone.Info[i]
				if q.Reduce == envs.Sum && math.Abs(a-b) > 1e-9*math.Abs(a) {
					t.Errorf("%s is %v inside and %v alone", q.Name, a, b)
				}
			}
			if p.Config().Scheduler != name || inside.Info[6] == 0 {
				t.Errorf("scheduler %s, %v jobs", p.Config().Scheduler, inside.Info[6])
			}
			envtest.Run(t, func() (envs.Env, error) { return catalog.Default().NewEnv(pricing.ID, c, workload.Default()) }, envtest.Options{Seeds: []uint64{1, 2}, Steps: 7})
		})
	}
}

// NewEnv makes another environment, to which copies can be made; what is tried on it is what would have happened.
func TestNewEnv(t *testing.T) {
	for _, name := range schedulerNames {
		c := on(t, name)
		world := priced(t, c)
		try := must.Get(world.NewEnv(nil))(t)
		s := world.Spec()
		obs, act, out := envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)
		must.Do(t, world.Reset(5, nil, obs))
		copy(act.Kinds[0], []float32{1.2, 1.1, 1, 6, 6, 6})
		for range c.Windows {
			must.Do(t, try.CopyFrom(world))
			must.Do(t, try.Step(act, obs, out))
			tried := fmt.Sprint(out.Info)
			must.Do(t, world.Step(act, obs, out))
			if real := fmt.Sprint(out.Info); tried != real {
				t.Errorf("%s: the try's window gives\n%s, the world's\n%s", name, tried, real)
			}
		}
	}
	// With another scheduler inside it is another configuration's.
	world := priced(t, on(t, "torpor"))
	arms := must.Get(pricing.NewARMS(pricing.DefaultARMS(), world.Config()))(t)
	other := must.Get(world.NewEnv(arms))(t)
	if err := other.CopyFrom(world); err == nil || other.Config().Scheduler != "arms" {
		t.Errorf("an environment with %s inside was copied from a world with torpor inside", other.Config().Scheduler)
	}
	if _, err := other.NewEnv(nil); err == nil || !strings.Contains(err.Error(), "arms") {
		t.Errorf("NewEnv of an environment with a given policy: %v, want an error that names it", err)
	}
}

// The pricer plays an evaluation's episode as a baseline, above each of the schedulers, and moves.
func TestPBAIsARival(t *testing.T) {
	r := must.Get(catalog.Default().Baseline("pba"))(t)
	if r.Kind != catalog.Heuristic {
		t.Errorf("pba is of kind %s", r.Kind)
	}
	for _, name := range schedulerNames {
		env := priced(t, on(t, name))
		actor := must.Get(r.New(r.Config(), env))(t)
		one := must.Get(rollout.NewRunner(env).Episode(actor, 4))(t)
		two := must.Get(rollout.NewRunner(env).Episode(actor, 4))(t)
		p := actor.Planner.(*spsa.Planner).Pricer()
		moved := make([]float32, 6)
		p.Action(moved)
		if fmt.Sprint(one.Info) != fmt.Sprint(two.Info) || p.Windows() != 3 || moved[0] == 1 {
			t.Errorf("%s: %v, then %v; after %d windows the action is %v", name, one.Info, two.Info, p.Windows(), moved)
		}
	}
	if _, err := r.New(r.Config(), noPrices(t)); err == nil || !strings.Contains(err.Error(), "acts in stoker/Pricing-v1 only") {
		t.Errorf("pba in another environment: %v", err)
	}
}

// noPrices is an environment that has no prices.
func noPrices(t *testing.T) envs.Env {
	t.Helper()
	e := must.Get(pricing.NewSlots(pricing.Default(), workload.Default(), nil))(t)
	return e
}

// What is wrong with a composition is said by its field.
func TestCompositionErrors(t *testing.T) {
	for want, change := range map[string]func(*pricing.Config){
		`scheduler: no scheduler "tetris"; there are: arms, has-gpu, mqfq-sticky, torpor`: func(c *pricing.Config) { c.Scheduler = "tetris" },
		"want pool: fixed":             func(c *pricing.Config) { c.Scheduler = "torpor" },
		"scheduler is \"\", want":      func(c *pricing.Config) { c.Scheduler = "" },
		"baselines[0] is -1, want":     func(c *pricing.Config) { c.Scheduler, c.Baselines = "torpor", []int{-1, 0, 0} },
		"layout.warm is last, want sh": func(c *pricing.Config) { c.Scheduler, c.Pool = "has-gpu", pricing.Elastic },
	} {
		c := pricing.Default()
		change(&c)
		if _, err := catalog.Default().NewEnv(pricing.ID, &c, workload.Default()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	c := pricing.Default()
	c.Scheduler = "torpor"
	if _, err := pricing.New(c, workload.Default(), nil); err == nil || !strings.Contains(err.Error(), "scheduler is torpor, want arms") {
		t.Errorf("without the table of agents: %v", err)
	}
	if err := baselines.Terms("fcfs", &c); err == nil || !strings.Contains(err.Error(), "scheduler is") {
		t.Errorf("Terms of fcfs: %v", err)
	}
	if _, err := catalog.Default().NewEnv("stoker/Pricing-v9", &c, workload.Default()); err == nil {
		t.Error("an unknown environment was made")
	}
}
