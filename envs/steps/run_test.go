package steps

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs/serve"
	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// tasked is a step of 64 tasks that moves data.
func tasked() StepConfig {
	return StepConfig{Name: "step", Tasks: 64, Law: Law{A: 0.4, B: 0.05, Fixed: 0.1}, Download: Transfer{64, 8},
		Upload: Transfer{8, 20}}
}

// A run of a step is what the platform's simulator (packages serve and sim) makes of it: tasks that fan out, of which so
// many run together, on instances that start one after the other.
func TestRunIsThatOfTheSimulator(t *testing.T) {
	p := Lambda()
	p.ColdCV = 0 // the simulator draws cold starts under names of its own
	c, o, key := tasked(), configuration{mb: 2048, processes: 1}, rng.New(7, "test/run")
	flow := must.Get(workflow.Graph{Name: "step", Nodes: []workflow.Node{{Name: "step"}}}.Compile())(t)
	for _, o.instances = range []int{1, 7, 40, 41, 60} {
		for _, warm := range []int{0, 3, 50} {
			for _, p.Together = range []int{0, 5, 40} {
				var r runner
				r.reset(&p)
				got := r.run(key, &c, 0, o, 0, warm)
				want, cold := simulated(t, flow, &p, &c, o, key, warm)
				if math.Abs(got.seconds-want) > 1e-4 || got.cold != cold {
					t.Errorf("%d instances, %d warm, %d together: %.6f s and %d cold starts, the simulator has %.6f and %d", o.instances,
						warm, p.Together, got.seconds, got.cold, want, cold)
				}
			}
		}
	}
}

// simulated serves one request of one step with the same draws.
func simulated(t *testing.T, flow *workflow.Workflow, p *Platform, c *StepConfig, o configuration, key rng.Key, warm int) (
	seconds float64, cold int,
) {
	t.Helper()
	work := p.times(c, o)
	download, upload := law(work.download), law(work.upload)
	f := sim.Function{BindCold: true, Queue: sim.NoLimit, KeepAlive: sim.Hour, Warm: warm > 0,
		Demand: sim.Law{Mean: 1}, ColdStart: sim.Law{Mean: p.ColdStart},
		Sizing: sim.Sizing{Max: sim.NoLimit, Min: int32(warm), Concurrency: 1, Speed: 1, CPU: 1, Memory: 1}}
	w, err := serve.New(serve.Config{Flow: flow, Platform: sim.Config{Functions: []sim.Function{f}, StartRate: 1 / p.StartEvery},
		Hooks: serve.Hooks{
			Tasks: func(*serve.Visit) (int, int) { return o.instances, p.Together },
			Work: func(v *serve.Visit) (float64, uint64) {
				i, class := int(v.Task), 1
				if i < work.more {
					class = 0
				}
				k, compute := key.With(0).With(16+uint64(i)), law(spread{work.compute[class], p.ComputeCV})
				return download.draw(k.With(drawDownload)) + compute.draw(k.With(drawCompute)) + upload.draw(k.With(drawUpload)),
					uint64(i)
			},
			Ran: func(r *serve.Run) {
				seconds = max(seconds, r.Ended.Seconds())
				if r.Cold {
					cold++
				}
			},
		}})
	if err == nil {
		err = w.Reset(1)
	}
	if err == nil {
		err = w.Request(0, 0)
	}
	if err == nil {
		err = w.Run(sim.Hour)
	}
	must.Do(t, err)
	return seconds, cold
}

// still is a platform on which nothing varies.
func still() Platform {
	p := Lambda()
	p.ColdCV, p.ComputeCV, p.Storage.CommonCV, p.Storage.ObjectCV = 0, 0, 0, 0
	return p
}

// near compares with a relative error.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*math.Abs(want)) {
		t.Errorf("%s: %.12g, want %.12g", what, got, want)
	}
}

// Where nothing varies a step takes the stairs of the cold starts, one cold start, and what its last instance takes; it
// is billed for that time, or for what its instances run. Both by hand.
func TestTimesByHand(t *testing.T) {
	p, c := still(), tasked()
	run := func(instances, warm int) result {
		var r runner
		r.reset(&p)
		return r.run(rng.New(1, "test"), &c, 0, configuration{2048, instances, 1}, 0, warm)
	}
	// 10 instances: four have 7 tasks, six have 6. Each fetches 7 of 64 objects of 8 MB, and stores one of 20 MB.
	const load, store = 0.05 + 7*8/60.0, 0.05 + 20/60.0
	seven, six := 0.4*7/1.05+0.1, 0.4*6/1.05+0.1
	whole := 0.25 + 4*0.015 + load + seven + store // the fourth is the last one with seven tasks
	if last := 0.25 + 10*0.015 + load + six + store; last > whole {
		whole = last
	}
	x := run(10, 0)
	near(t, "10 instances", x.seconds, whole)
	near(t, "mapping of 10 instances", x.mapping, 0.25+10*0.015)
	near(t, "their price", x.usd, 10*(whole*2*1.66667e-5+2e-7+2.5e-5))
	p.BillMapping = false
	near(t, "their price as clouds bill", run(10, 0).usd, (10*(load+store)+4*seven+6*six)*2*1.66667e-5+10*(2e-7+2.5e-5))
	near(t, "10 instances, all warm", run(10, 10).seconds, load+seven+store)
	near(t, "10 instances, 4 warm", run(10, 4).seconds, max(load+seven+store, 0.25+6*0.015+load+six+store))
	// 60 instances, of which 40 run together: the first four have two tasks, the others one, which fetch two objects. The
	// 41st begins when the fifth ends.
	const two = 0.05 + 2*8/60.0
	one := 0.4/1.05 + 0.1
	fifth := 0.25 + 5*0.015 + two + one + store
	x = run(60, 0)
	near(t, "60 instances", x.seconds, 0.25+24*0.015+two+one+store+two+one+store)
	near(t, "mapping of 60 instances", x.mapping, 0.25+24*0.015+two+one+store)
	if begins := run(41, 0); begins.mapping < fifth-0.1 || begins.cold != 40 {
		t.Errorf("41 instances: mapping %.3f s and %d cold starts, want about %.3f and 40", begins.mapping, begins.cold, fifth)
	}
	p.Together = 0
	near(t, "mapping of 60 instances without the limit", run(60, 0).mapping, 0.25+60*0.015)
	p.Formula = true
	f := run(40, 2)
	near(t, "the formula over the median delay", math.Round(1e9*f.mapping/run(40, 2).mapping)/1e9, 1)
	if f.cold != 38 || f.mapping < 0.3 || f.mapping > 1 {
		t.Errorf("40 instances, 2 warm, by the formula: %d cold starts and a delay of %.3f s, want 38 and about 0.55", f.cold, f.mapping)
	}
}

// The curve of the formula has BASELINES' points, and the simulated stairs follow it up to its knee.
func TestMappingCurve(t *testing.T) {
	for n, want := range map[int]float64{1: 0.265, 10: 0.4, 20: 0.55, 30: 0.7, 40: 0.95, 50: 1.9, 60: 3.65} {
		near(t, "formula", Mapping(n, 0), want)
	}
	near(t, "warm", Mapping(20, 2), 0.15)
	near(t, "all warm", Mapping(20, 20), 0)
	p := still()
	for _, n := range []int{1, 10, 20, 30} {
		near(t, "stairs", p.mapping(n), Mapping(n, 0))
	}
}

// A chain on which nothing varies takes the sum of its steps, predicted and played, whatever is chosen.
func TestChainIsASum(t *testing.T) {
	a := must.Get(Preset("chain"))(t)
	a.Platform, a.Own = Own, still()
	m := must.Get(a.Compile())(t)
	var w walk
	for try := range 20 {
		w.begin(m, m, rng.New(uint64(try), "test"), 100, 1)
		var seconds, usd float64
		for !w.over() {
			s := w.step()
			i := (7*try + 3*s) % len(m.Options[s])
			o := m.Options[s][i]
			x, elapsed := w.take(i, m.configuration(s, i))
			if math.Abs(x.seconds-o.Mean) > 1e-6 || math.Abs(elapsed-o.Mean) > 1e-6 || math.Abs(x.usd-o.USD) > 1e-9 {
				t.Fatalf("step %d with %+v: %.9f s and %.9g USD", s, o, x.seconds, x.usd)
			}
			seconds, usd = seconds+o.P90, usd+o.USD
		}
		if math.Abs(w.at.Now-seconds) > 1e-5 || math.Abs(w.at.Spent-usd) > 1e-9 {
			t.Errorf("the chain takes %.9f s and %.9g USD, want %.9f and %.9g", w.at.Now, w.at.Spent, seconds, usd)
		}
	}
}

// Steps share the workers: where the first takes all cores, the instances of a step beside it begin as those end, and a
// step has no more instances than the workers hold.
func TestWorkersFill(t *testing.T) {
	p := still()
	p.SingleCore, p.Together, p.Workers, p.Cores, p.MemoryGB, p.StartEvery = 2048, 0, 1, 4, 16, 0
	p.Memory = []int{1024, 2048, 4096}
	step := func(name string, tasks int, seconds float64) StepConfig {
		return StepConfig{Name: name, Tasks: tasks, Law: Law{A: 1e-9, Fixed: seconds}}
	}
	a := App{Name: "fork", Workflow: workflow.New("fork", workflow.Fork("in", "left", "right")), Platform: Own, Own: p,
		Steps: []StepConfig{step("in", 1, 1), step("left", 6, 2), step("right", 2, 3)}}
	m := must.Get(a.Compile())(t)
	if _, err := m.Pack(1, 2048, 5, 1); err == nil {
		t.Error("five instances of a core each are taken for four cores")
	}
	for _, c := range []struct {
		instances int
		want      float64 // the end of right, whose two instances take 3.25 s from where they find room
	}{{2, 1.25 + 3.25}, {3, 1.25 + 2.25 + 3.25}, {4, 1.25 + 2.25 + 3.25}} {
		var p Player
		var d pick
		d.m, d.left = m, c.instances
		played := p.Play(m, &d, rng.New(1, "test"), 100, 1)
		if math.Abs(played.Seconds-c.want) > 1e-6 {
			t.Errorf("%d instances beside two: %.6f s, want %.6f", c.instances, played.Seconds, c.want)
		}
	}
}

// pick gives the step left a number of instances of 2,048 MB, and the other steps as many as they have tasks.
type pick struct {
	m    *Model
	left int
}

func (*pick) Begin(*Model, float64, float64) {}

func (p *pick) Decide(_ *Moment, step int) int {
	n := []int{1, p.left, 2}[step]
	option, err := p.m.Pack(step, 2048, n, 1)
	if err != nil {
		panic(err)
	}
	return option
}

// The draws of an instance do not depend on what is chosen: with more memory it starts and moves data at the same times.
// Neither do they depend on what other steps got.
func TestDrawsAreTheRequests(t *testing.T) {
	p, c := Lambda(), tasked()
	run := func(step, mb int) result {
		r := runner{platform: &p, room: new(room)}
		return r.run(rng.New(3, "test"), &c, step, configuration{mb, 1, 1}, 0, 0)
	}
	a, b := run(0, 1024), run(0, 8192)
	if a.mapping != b.mapping || a.moved != b.moved || a.seconds <= b.seconds {
		t.Errorf("with 1024 MB %+v, with 8192 MB %+v: want equal mapping and transfers", a, b)
	}
	if other := run(1, 1024); other.mapping == a.mapping || other.moved == a.moved {
		t.Errorf("two steps have the same draws: %+v and %+v", a, other)
	}
	front := sit(t, FrontForm)
	times := map[int]float64{}
	for try := range 6 {
		front.reset(t, 5)
		for front.Running() {
			s, m := front.NextStep(), front.Model()
			option := try % len(m.Options[s])
			if s == m.NumSteps()-1 {
				option = 0
				seconds, _ := front.Draw(s, option)
				if was, ok := times[s]; ok && was != seconds {
					t.Errorf("step %d takes %g s or %g s, by what other steps got", s, was, seconds)
				}
				times[s] = seconds
			}
			front.follow(t, option)
		}
	}
}
