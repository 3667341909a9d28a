package spsa

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
)

// Without copies the environment runs s⁺ and s⁻ of the prices, then of the baselines, and the action moves after the
// fourth window. Worked by hand as in TestTwoWindowsByHand: the slopes are 2 and 4 at (1, 5.4).
func TestOnlineByHand(t *testing.T) {
	o := plain(1, 1, 1, 0)
	o.h[0][0], o.best = 2, []float64{2, 9}
	c := searching(&o, []float64{1, 5.4})
	c.Prices.Perturbation, c.Prices.Step = 0.5, 0.25
	c.Baselines.Unit, c.Baselines.Most, c.Offset, c.Realised = 2, 1.5, 2, Perturbed
	tuner := must.Get(NewTuner(c, newQuadratic(o)))(t)
	world := begun(t, newQuadratic(o), 1)
	obs, act, out := envs.NewObservation(world.Spec()), envs.NewAction(world.Spec()), envs.NewOutcome(world.Spec())
	seen := map[[2]float32]int{}
	for w := range 4 {
		if tuner.Pricer().Windows() != 0 {
			t.Errorf("the action moved before window %d", w)
		}
		must.Do(t, tuner.Propose(obs, act))
		seen[[2]float32(act.Kinds[0])]++
		must.Do(t, world.Step(act, obs, out))
		must.Do(t, tuner.Observe(act, out))
	}
	for _, want := range [][2]float32{{1.5, 5}, {0.5, 5}, {1, 6}, {1, 4}} {
		if seen[want] != 1 {
			t.Errorf("the environment ran %v, want %v among them", seen, want)
		}
	}
	if p := tuner.Pricer(); !near(p.x, []float64{1.5, 6.9}, 1e-12) || p.Windows() != 1 {
		t.Errorf("after four windows the strategy is %v, want 1.5 and 6.9", p.x)
	}
}

// A run without copies resumes bit for bit from every window of a pair, needs no spare environment and allocates
// nothing.
func TestOnlineResume(t *testing.T) {
	build, c := mixed(7)
	c.Realised = Perturbed
	for at := range 9 { // two pairs of each block are eight windows
		whole := newTrainer(t, build, c, 2, 5)
		whole.windows(t, 16+at)
		mid := whole.state(t)
		world := must.Get(whole.v.AppendBinary(nil))(t)
		whole.windows(t, 20)
		resumed := newTrainer(t, build, c, 2, 5)
		must.Do(t, resumed.v.UnmarshalBinary(world))
		must.Do(t, resumed.l.Load(mid))
		resumed.windows(t, 20)
		if !bytes.Equal(whole.saved(t), resumed.saved(t)) {
			t.Errorf("a run resumed after %d windows ends with other bytes", 16+at)
		}
		if n := testing.AllocsPerRun(50, func() { whole.windows(t, 1) }); n != 0 {
			t.Errorf("a window allocates %g times", n)
		}
	}
	env := must.Get(build())(t)
	if _, err := NewLearner(c, agents.Context{Spec: env.Spec(), NumEnvs: 1}); err != nil {
		t.Error(err)
	}
}

// Without noise it reaches the best action within an episode, as the planner does.
func TestOnlineFinds(t *testing.T) {
	o := plain(2, 0, 1, 2)
	o.length = 400
	c := searching(&o, []float64{0, 0})
	c.Realised, c.Prices.Step = Perturbed, 0.4
	tuner := must.Get(NewTuner(c, newQuadratic(o)))(t)
	must.Get(rollout.NewRunner(newQuadratic(o)).Episode(rollout.Actor{Tuner: tuner}, 1))(t)
	if p := tuner.Pricer(); !near(p.x, []float64{2, 2}, 0.02) || p.Windows() != 200 {
		t.Errorf("after %d moves the strategy is %v, want about 2 and 2 after 200", p.Windows(), p.x)
	}
	if tuner.Name() != "pba-online" {
		t.Error(tuner.Name())
	}
	b := must.Get(tuner.AppendBinary(nil))(t)
	again := must.Get(NewTuner(c, newQuadratic(o)))(t)
	if err := again.UnmarshalBinary(b); err != nil || !near(again.Pricer().x, tuner.Pricer().x, 0) {
		t.Errorf("restored, the strategy is %v (%v), want %v", again.Pricer().x, err, tuner.Pricer().x)
	}
	if err := tuner.Reset(1); err != nil || tuner.Pricer().Windows() != 0 {
		t.Errorf("after Reset: %d moves (%v)", tuner.Pricer().Windows(), err)
	}
}

// Learner, planner and tuner each refuse what they can't do.
func TestFacesRefuse(t *testing.T) {
	build, c := mixed(7)
	env := must.Get(build())(t)
	if _, err := NewTuner(c, env); err == nil || !strings.Contains(err.Error(), "want a planner") {
		t.Error(err)
	}
	c.Realised = Perturbed
	if _, err := NewPlanner(c, env); err == nil || !strings.Contains(err.Error(), "which a planner cannot do") {
		t.Error(err)
	}
	o := plain(1, 0, 1, 0)
	o.broken = true
	s := newTrainer(t, func() (envs.Env, error) { return newQuadratic(o), nil }, func() Config {
		c := searching(&o, []float64{0})
		c.Realised = Perturbed
		return c
	}(), 1, 1)
	if err := s.window(); err == nil || !strings.Contains(err.Error(), "reward of provider 0 is NaN") {
		t.Error(err)
	}
}
