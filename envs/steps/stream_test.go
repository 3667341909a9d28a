package steps

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// Instances that end are idle, the last one to end is taken first, and one that is idle for too long is gone.
func TestPool(t *testing.T) {
	p := Lambda()
	p.KeepAlive = 100
	var pool pool
	pool.reset(&p, 2)
	for _, end := range []float64{30, 10, 20, 50} {
		pool.put(3, end, 0)
	}
	for _, c := range []struct {
		now  float64
		idle int
	}{{5, 0}, {10, 1}, {25, 2}, {60, 4}, {110, 4}, {110.5, 3}} {
		if n := pool.idle(3, c.now); n != c.idle {
			t.Errorf("at %g s %d are idle, want %d", c.now, n, c.idle)
		}
	}
	pool.take(3, 2, 110.5) // those that ended at 50 and 30
	if l := pool.lists[3]; !slices.Equal(l, []float64{20}) {
		t.Errorf("left are %v, want the one that ended at 20", l)
	}
	if pool.idle(2, 110) != 0 {
		t.Error("there are instances of another size")
	}
}

// Where workers are full, the instances that have been idle for longest go; those that run stay.
func TestPoolCapacity(t *testing.T) {
	p := OnKnative() // 96 cores; 10,240 MB take five
	var pool pool
	pool.reset(&p, 2)
	large := len(p.Memory) - 1
	for i := range 18 { // 180 GB of 192
		pool.put(large, float64(i), 0)
	}
	pool.put(len(p.Memory)+large, 200, 100) // the other step's: 190 GB
	if n := pool.idle(large, 100); n != 18 {
		t.Errorf("%d are idle, want all 18", n)
	}
	pool.put(len(p.Memory)+large, 200, 100)
	if l := pool.lists[large]; len(l) != 17 || l[0] != 1 {
		t.Errorf("idle are %v, want all but the first", l)
	}
	for range 20 {
		pool.put(len(p.Memory)+large, 200, 100)
	}
	if n := len(pool.lists[large]); n != 0 {
		t.Errorf("%d are still idle, want none", n)
	}
	if n := len(pool.lists[len(p.Memory)+large]); n != 22 {
		t.Errorf("%d run, want 22: what runs is not taken away", n)
	}
}

// steady is a chain of two steps on a platform where cold starts take two seconds and nothing varies.
func steady() *App {
	p := Lambda()
	p.ColdStart, p.ColdCV, p.StartEvery, p.ComputeCV, p.KeepAlive = 2, 0, 0.5, 0, 100
	one := func(name string) StepConfig {
		return StepConfig{Name: name, Tasks: 4, Law: Law{A: 5}, MinMemory: 10240, MaxProcesses: 1}
	}
	return &App{Name: "steady", Workflow: workflow.New("steady", workflow.Chain("a", "b")), Platform: Own, Own: p,
		Steps: []StepConfig{one("a"), one("b")}}
}

// four gives every step four instances: 5 s, 4 s more where they are cold.
type four struct{ m *Model }

func (f *four) Begin(m *Model, _, _ float64) { f.m = m }

func (f *four) Decide(_ *Moment, step int) int {
	o, err := f.m.Pack(step, 10240, 4, 1)
	if err != nil {
		panic(err)
	}
	return o
}

// play plays an episode with four instances for each step and returns its info.
func playFour(t *testing.T, c EnvConfig, with Given) []float64 {
	t.Helper()
	c.Workflow = "steady.yaml"
	with.Own = steady()
	e := must.Get(New(c, with))(t)
	obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
	must.Do(t, e.Reset(1, nil, obs))
	var f four
	f.Begin(e.Model(), 0, 0)
	for !out.Terminated {
		e.Follow(f.Decide(e.Moment(), e.NextStep()), act)
		must.Do(t, e.Step(act, obs, out))
	}
	return out.Info
}

// Requests of a stream that come soon after each other find the instances of those before warm; those that come late do
// not.
func TestStreamWarm(t *testing.T) {
	c := DefaultEnv()
	c.Requests, c.SLO = 12, []float64{2, 2}
	load := workload.Default()
	load.Kind, load.Rate, load.Length = workload.Periodic, 1, 100
	load.Wave.Amplitude = 0
	for _, rate := range []float64{0.01, 2} {
		c.Rate = []float64{rate, rate}
		info := playFour(t, c, Given{Load: load})
		took, cold := info[atTime], info[atCold]
		if rate < 1 && (math.Abs(took-18) > 1e-9 || cold != 8) {
			t.Errorf("%g a minute: requests take %g s with %g cold starts, want 18 and 8", rate, took, cold)
		}
		if rate > 1 && (took > 13 || took < 10+8.0/12-1e-9 || cold > 3 || cold < 8.0/12) {
			t.Errorf("%g a minute: requests take %g s with %g cold starts, want little more than 10 and 0", rate, took, cold)
		}
	}
}

// The rewards of a stream add up to minus the prices of all its requests and of those that end late, also where a request
// begins after the one before has ended.
func TestStreamRewards(t *testing.T) {
	for _, rate := range []float64{0.1, 6, 600} {
		c := few()
		c.Requests, c.SLO, c.Miss, c.Rate = 12, []float64{1, 1}, []float64{3, 3}, []float64{rate, rate}
		e := must.Get(New(c, Given{}))(t)
		obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
		must.Do(t, e.Reset(1, nil, obs))
		sum := 0.0
		for !out.Terminated {
			act.Kinds[0][0] = float32(len(e.Model().Options[e.NextStep()]) - 1) // the slowest
			must.Do(t, e.Step(act, obs, out))
			sum += float64(out.Rewards[0][0])
		}
		n := float64(c.Requests)
		want := -out.Info[atCost]*n/e.Model().Unit - 3*out.Info[atMissed]*n
		if out.Info[atMissed] == 0 || math.Abs(sum/want-1) > 1e-5 {
			t.Errorf("%g a minute: rewards add up to %g, want %g, with %g %% late", rate, sum, want, 100*out.Info[atMissed])
		}
	}
}

// A step that is prewarmed in time begins warm. Its dummy calls and its idle instances are paid for.
func TestPrewarm(t *testing.T) {
	c := DefaultEnv()
	c.SLO, c.Prewarm = []float64{2, 2}, ByStepConf
	with := Given{Prewarm: func() (Decider, error) { return &four{}, nil }}
	info := playFour(t, c, with)
	if math.Abs(info[atTime]-14) > 1e-9 {
		t.Errorf("the request takes %g s, want 9 and 5", info[atTime])
	}
	m := must.Get(steady().Compile())(t)
	f := four{m}
	// The first step takes 9 s. With that as the schedule there are four dummy calls at 9 − 5·0.5 − 2 = 4.5 s, whose
	// instances are ready at 7, 7.5, 8 and 8.5 s. The prediction is a little off.
	begin := m.Seconds(0, f.Decide(nil, 0), 0.5, 0)
	if math.Abs(begin/9-1) > 0.03 {
		t.Errorf("the first step is predicted to take %g s, want about 9", begin)
	}
	p, gb, idle := Lambda(), 10.0, 4*(9-begin)+2+1.5+1+0.5
	want := 4*(2*gb*p.USDPerGBSecond+p.USDPerRun) + idle*gb*c.Idle
	if math.Abs(info[atPrewarmCost]/want-1) > 1e-9 || info[atPrewarmed] != 4 {
		t.Errorf("%g instances were prewarmed for %g USD, want 4 for %g", info[atPrewarmed], info[atPrewarmCost], want)
	}
	mapping := 4 * 4 * gb * p.USDPerGBSecond // of the first step
	if math.Abs(info[atMappingCost]/mapping-1) > 1e-9 || info[atColdCost] != info[atMappingCost] {
		t.Errorf("mapping costs %g USD, cold starts %g, want %g", info[atMappingCost], info[atColdCost], mapping)
	}
	run := 4*(9+5)*gb*p.USDPerGBSecond + 8*(p.USDPerRun+p.USDPerTransition) + want
	if math.Abs(info[atCost]/run-1) > 1e-9 {
		t.Errorf("the request costs %g USD, want %g", info[atCost], run)
	}
	c.Prewarm = NoPrewarm
	if info = playFour(t, c, with); math.Abs(info[atTime]-18) > 1e-9 || info[atPrewarmCost] != 0 {
		t.Errorf("without prewarming it takes %g s and prewarming costs %g USD", info[atTime], info[atPrewarmCost])
	}
}

// Where a step begins before all its dummy calls have ended, only the instances that are ready were idle.
func TestPrewarmLate(t *testing.T) {
	c := DefaultEnv()
	c.SLO, c.Prewarm, c.Workflow = []float64{2, 2}, ByStepConf, "steady.yaml"
	with := Given{Own: steady(), Prewarm: func() (Decider, error) { return &four{}, nil }}
	e := must.Get(New(c, with))(t)
	must.Do(t, e.Reset(1, nil, envs.NewObservation(e.Spec())))
	w := e.walk
	w.ahead.calls[1] = dummies{n: 4, at: 1, sent: true, unsettled: true}
	first, _ := w.dummy(1, 0)
	second, _ := w.dummy(1, 1)
	until := (first + second) / 2
	before := w.at.Spent
	w.payIdle(1, until)
	want := (until - first) * float64(w.runner.platform.Memory[0]) / 1024 * c.Idle
	if got := w.at.Spent - before; !(second > first) || math.Abs(got/want-1) > 1e-9 {
		t.Errorf("%g USD for instances that are idle for %g s, want %g", got, until-first, want)
	}
}

func TestStreamContract(t *testing.T) {
	for name, change := range map[string]func(*EnvConfig){
		"aws":     func(*EnvConfig) {},
		"knative": func(c *EnvConfig) { c.Platform, c.Prewarm = Knative, ByStepConf },
	} {
		t.Run(name, func(t *testing.T) {
			c := few()
			c.Requests = 5
			change(&c)
			with := Given{Prewarm: func() (Decider, error) { return &slowest{}, nil }}
			envtest.Run(t, func() (envs.Env, error) { return New(c, with) }, envtest.Options{Seeds: []uint64{1, 2}, Steps: 40})
		})
	}
}

// slowest takes the last option of a step.
type slowest struct{ m *Model }

func (c *slowest) Begin(m *Model, _, _ float64)   { c.m = m }
func (c *slowest) Decide(_ *Moment, step int) int { return len(c.m.Options[step]) - 1 }

func BenchmarkStream(b *testing.B) {
	c := few()
	c.Requests = 50
	e := must.Get(New(c, Given{}))(b)
	play(b, e)
}
