package variants

import (
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
	const episodes = 60
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
