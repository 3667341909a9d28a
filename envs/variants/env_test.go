package variants

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/internal/must"
)

func fewApps() EnvConfig {
	c := DefaultEnv()
	c.Apps = 12
	return c
}

func TestEachContract(t *testing.T) {
	envtest.Run(t, func() (envs.Env, error) { return NewEach(fewApps(), nil) }, envtest.Options{Seeds: []uint64{1, 2}, Steps: 60})
}

func TestServedContract(t *testing.T) {
	envtest.Run(t, func() (envs.Env, error) {
		c := fewApps()
		c.World, c.Requests = Served, 100
		return NewEach(c, nil)
	}, envtest.Options{Seeds: []uint64{1, 2}, Steps: 60})
}

func TestDialContract(t *testing.T) {
	envtest.Run(t, func() (envs.Env, error) { return NewEach(dialled(2, 50), nil) }, envtest.Options{Seeds: []uint64{1}, Steps: 60})
}

// dialled is a configuration of plans that are served, with a range of penalties.
func dialled(low, high float64) EnvConfig {
	c := fewApps()
	c.World, c.Requests, c.Penalties = Served, 100, []float64{low, high}
	return c
}

// Each episode draws its penalty log-uniformly, sees it in a column of its own, and pays it for a missed percentile.
func TestDial(t *testing.T) {
	const low, high, n = 2, 50, 4000
	e := must.Get(NewEach(dialled(low, high), nil))(t)
	var mean, square float64
	for seed := range uint64(n) {
		x := math.Log(e.shelf.dialled(seed)/low) / math.Log(high/low)
		if x < 0 || x > 1 {
			t.Fatalf("seed %d has a penalty of %g, want %d to %d", seed, e.shelf.dialled(seed), low, high)
		}
		mean, square = mean+x/n, square+x*x/n
	}
	if math.Abs(mean-0.5) > 5*math.Sqrt(1.0/12/n) || math.Abs(square-1.0/3) > 5*math.Sqrt(4.0/45/n) {
		t.Errorf("the place in the range has the mean %g and the mean square %g, want 1/2 and 1/3", mean, square)
	}
	// The same plan under two penalties: what is seen differs by the penalty alone, and the return is what a served plan
	// costs and misses, over the root of the penalty. Each choice earns what it saves by the model.
	missed, columns := 0, len(dialFeatures)
	costs := map[float64][]float64{}
	for _, penalty := range []float64{2, 50} {
		e := must.Get(NewEach(dialled(penalty, penalty), nil))(t)
		obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
		for seed := range uint64(10) {
			must.Do(t, e.Reset(seed, nil, obs))
			row := obs.Kinds[0].Graphs[0].Nodes[ProblemNode].Features
			if got, want := row[columns-1], float32(math.Log(penalty)); math.Abs(float64(got-want)) > 1e-6 {
				t.Errorf("a penalty of %g is seen as %g, want %g", penalty, got, want)
			}
			earned := 0.0
			for e.running {
				e.Follow(e.Present(nil), 1, act)
				must.Do(t, e.Step(act, obs, out))
				earned += float64(out.Rewards[0][0])
				planned := 5 * (1 - e.walk.outcome.USD/e.walk.first.USD) / math.Sqrt(penalty)
				if e.running && math.Abs(earned-planned) > 1e-4 {
					t.Errorf("seed %d under %g: the choices so far earned %g, want %g", seed, penalty, earned, planned)
				}
			}
			cost := -earned * math.Sqrt(penalty)
			if out.Info[inViolated] == 1 {
				cost -= penalty * (1 + 0.5*min(out.Info[inP95]/e.Problem().Latency-1, 1))
				missed++
			}
			if want := 5 * out.Info[inExcess]; math.Abs(cost-want) > 1e-3 {
				t.Errorf("seed %d under %g: without its penalty the plan costs %g, want %g", seed, penalty, cost, want)
			}
			costs[penalty] = append(costs[penalty], cost)
		}
	}
	for i, x := range costs[2] {
		if d := math.Abs(x - costs[50][i]); d > 1e-3 || missed == 0 {
			t.Errorf("seed %d: without its penalty the plan costs %g and %g; %d percentiles are missed", i, x, costs[50][i], missed)
		}
	}
	for want, change := range map[string]func(*EnvConfig){
		"penalties is [9 2]":         func(c *EnvConfig) { c.Penalties = []float64{9, 2} },
		"penalties is [2]":           func(c *EnvConfig) { c.Penalties = []float64{2} },
		"want none with world: mean": func(c *EnvConfig) { c.World = ByMeans },
	} {
		c := dialled(low, high)
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want one that says %q", err, want)
		}
	}
}

func TestOnceContract(t *testing.T) {
	envtest.Run(t, func() (envs.Env, error) { return New(fewApps(), nil) }, envtest.Options{Seeds: []uint64{1, 2}, Steps: 60})
}

// What is left out costs nothing: for each option left out another one of the function is no slower, no dearer and as
// accurate, and nothing that is left in is beaten.
func TestDominatedOptionsAreLeftOut(t *testing.T) {
	out, in := 0, 0
	for number := range uint64(40) {
		app := must.Get(Generate(number, 3, 24))(t)
		m := must.Get(app.Compile())(t)
		n := must.Get(newMenu(m, 80))(t)
		for f := range m.Options {
			accuracy := func(i int) float64 { return m.Variants[f][m.Options[f][i].Variant].Accuracy }
			for i, o := range m.Options[f] {
				x := n.offers[f][n.offer(f, i)]
				p := m.Options[f][x.option]
				if p.Seconds > o.Seconds || p.USD > o.USD || accuracy(x.option) < accuracy(i) {
					t.Fatalf("app %d: option %d of function %d is left out, and %+v does not beat it", number, i, f, p)
				}
				if out++; x.option == i {
					in++
				}
			}
			for i, a := range n.offers[f] {
				for j, b := range n.offers[f] {
					if i != j && a.seconds <= b.seconds && a.usd <= b.usd && accuracy(a.option) >= accuracy(b.option) {
						t.Fatalf("app %d: offer %d of function %d beats offer %d", number, i, f, j)
					}
				}
			}
		}
	}
	t.Logf("%d of %d options are left", in, out)
}

// The best plan of all can be played: the masks forbid it hardly ever, and nothing is better.
func TestExactPlanCanBePlayed(t *testing.T) {
	c := DefaultEnv()
	c.Ideal = Best
	e := must.Get(NewEach(c, nil))(t)
	obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
	const episodes = 30
	played := 0
	for seed := range uint64(episodes) {
		must.Do(t, e.Reset(seed, nil, obs))
		plan := must.Get(e.Model().Solve(t.Context(), e.Problem()))(t)
		for e.running {
			e.Follow(plan.Choice, 1, act)
			must.Do(t, e.Step(act, obs, out))
		}
		if out.Info[inViolated] > 0 {
			t.Errorf("episode %d misses a constraint", seed)
		}
		if out.Info[inExcess] < -1e-6 {
			t.Errorf("episode %d is better than the best plan by %g", seed, -out.Info[inExcess])
		}
		if out.Info[inIdeal] > 1-1e-6 {
			played++
		}
	}
	if played < episodes*9/10 {
		t.Errorf("the best plan was played in %d of %d episodes", played, episodes)
	}
	t.Logf("%d of %d", played, episodes)
}

// Where plans are served, a smaller margin takes more money and misses the percentile less often.
func TestMarginsTradeCostForTheTail(t *testing.T) {
	c := DefaultEnv()
	c.World, c.Requests = Served, 200
	e := must.Get(NewEach(c, nil))(t)
	obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
	var excess, violated [2]float64
	for k, margin := range []float64{0.3, 1} {
		for seed := range uint64(20) {
			must.Do(t, e.Reset(seed, nil, obs))
			for e.running {
				e.Follow(e.Present(nil), margin, act)
				must.Do(t, e.Step(act, obs, out))
			}
			excess[k] += out.Info[inExcess]
			violated[k] += out.Info[inViolated]
		}
	}
	if !(excess[0] > excess[1]) || !(violated[0] < violated[1]) {
		t.Errorf("with margins of 0.3 and 1 the excess is %v and the percentile is missed %v times", excess, violated)
	}
}
