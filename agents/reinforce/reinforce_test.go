package reinforce

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/envs/state/statetest"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// quick learns the toy in a second.
func quick() Config {
	c := Default()
	c.Hidden, c.Rate, c.ValueRate, c.Gamma, c.Entropy, c.Rows = []int{16}, 2e-2, 2e-2, 0.5, 1e-3, 32
	return c
}

func learn(t testing.TB, c Config, toy choicetest.Toy, steps int64) *Learner {
	t.Helper()
	_, l := choicetest.Train(t, 1, 2, steps, 1, func() (envs.Env, error) { return choicetest.NewToy(toy), nil },
		func(ctx agents.Context) (agents.Learner, error) { return New(c, ctx) })
	return l.(*Learner)
}

// The toy refuses illegal choices, so that learning it to the end shows that none is ever made.
func TestLearnsUnderMasks(t *testing.T) {
	for name, change := range map[string]func(*Config, *choicetest.Toy){
		"TD(λ)":       func(*Config, *choicetest.Toy) {},
		"TD":          func(c *Config, _ *choicetest.Toy) { c.Lambda = 0 },
		"Monte Carlo": func(c *Config, _ *choicetest.Toy) { c.Lambda = 1 },
		"cut":         func(c *Config, t *choicetest.Toy) { c.Cut, t.Length = 5, 50 },
		"standardise": func(c *Config, _ *choicetest.Toy) { c.Standardise = true },
		"none":        func(c *Config, _ *choicetest.Toy) { c.Baseline, c.Lambda = None, 1 },
		"sequence":    func(c *Config, t *choicetest.Toy) { c.Baseline, c.Lambda, c.Episodes, t.Sets = Sequence, 1, 16, 4 },
		"replay":      func(c *Config, _ *choicetest.Toy) { c.Replay.Trajectories = 16 },
		"target":      func(c *Config, _ *choicetest.Toy) { c.Lambda, c.TargetTau = 0.5, 0.2 },
	} {
		t.Run(name, func(t *testing.T) {
			c, toy := quick(), choicetest.Toy{Length: 5}
			change(&c, &toy)
			l := learn(t, c, toy, 10_000)
			p := must.Get(l.Policy())(t)
			// The best choices pay less or more where few episodes recur: they are the measure.
			paid, best, steps := 0.0, 0.0, 0.0
			r := rollout.NewRunner(choicetest.NewToy(toy))
			r.OnStep = func(s rollout.Step) {
				o, top := &s.Seen.Kinds[0], 0.0
				for i, legal := range o.Mask {
					pays := float64(i)
					if o.Values[0] > 0 {
						pays = float64(2 - i)
					}
					if legal {
						top = max(top, pays)
					}
				}
				paid, best, steps = paid+float64(s.Rewards[0][0]), best+top, steps+1
			}
			for seed := range uint64(200) {
				must.Get(r.Episode(rollout.Actor{Policy: p}, 1<<40+seed))(t)
			}
			if (best-paid)/steps > 0.05 {
				t.Errorf("a step pays %.3f, the best choice %.3f", paid/steps, best/steps)
			}
		})
	}
}

// Where everything pays 1 a state is worth 1/(1−γ) if episodes are cut, and 1 if the world ends with each step.
func TestTruncationBootstraps(t *testing.T) {
	for _, k := range []struct {
		cut  bool
		want float64
	}{{true, 2}, {false, 1}} {
		for _, lambda := range []float64{0, 0.9, 1} {
			c := quick()
			c.Lambda = lambda
			l := learn(t, c, choicetest.Toy{Length: 1, Cut: k.cut, Flat: true}, 4_000)
			saw, v := &vectorObservations{width: 4}, make([]float32, 2)
			saw.add([]float32{1, 0, 1, 0})
			saw.add([]float32{-1, 0, 0, 1})
			at := &trajectory{obs: saw}
			must.Do(t, l.m.values(false, []stepRef{{at, 0}, {at, 1}}, v))
			for _, x := range v {
				if math.Abs(float64(x)-k.want) > 0.1 {
					t.Errorf("cut %v, λ %g: the value is %.3f, want %g", k.cut, lambda, x, k.want)
				}
			}
		}
	}
}

// rowsOf is a row for each number.
func rowsOf(x ...float32) observations {
	s := &vectorObservations{width: 1}
	for i := range x {
		s.add(x[i : i+1])
	}
	return s
}

// batchOf is a batch of two trajectories: one of three steps, cut, and one of one step, terminated.
func batchOf() *batch {
	a := &trajectory{steps: 3, bootstrap: true, reward: []float32{1, 2, 3}, discount: []float32{0.5, 0.5, 0.5},
		choice: []float32{0, 1, 0},
		obs:    rowsOf(1, 2, 3, 4), mask: []bool{true, true, true, true, true, true}, logp: []float32{-1, -1, -1}}
	b := &trajectory{steps: 1, reward: []float32{5}, discount: []float32{0}, choice: []float32{1},
		obs: rowsOf(6, 4), mask: []bool{true, true}, logp: []float32{-1}}
	l := &batch{}
	l.begin([]*trajectory{a, b}, nil, 0, nil)
	copy(l.value, []float32{10, 20, 30, 40})
	copy(l.next, []float32{20, 30, 8, 99})
	return l
}

func TestReturnsByHand(t *testing.T) {
	for _, k := range []struct {
		lambda float64
		want   []float32
	}{
		{1, []float32{1 + 0.5*(2+0.5*7), 2 + 0.5*7, 3 + 0.5*8, 5}},
		{0, []float32{1 + 0.5*20, 2 + 0.5*30, 3 + 0.5*8, 5}},
		{0.5, []float32{1 + 0.5*(10+0.5*(2+0.5*(15+3.5))), 2 + 0.5*(15+3.5), 7, 5}},
	} {
		l := batchOf()
		l.returns(k.lambda)
		if !slices.Equal(l.ret, k.want) {
			t.Errorf("λ %g: returns are %v, want %v", k.lambda, l.ret, k.want)
		}
	}
}

func TestBaselinesByHand(t *testing.T) {
	for _, k := range []struct {
		baseline Baseline
		want     []float32
	}{
		{None, []float32{3.75, 5.5, 7, 5}},
		{Value, []float32{3.75 - 10, 5.5 - 20, 7 - 30, 5 - 40}},
		{Sequence, []float32{3.75 - 4.375, 5.5 - 2.75, 7 - 3.5, 5 - 4.375}}, // the shorter one counts as 0
	} {
		l := batchOf()
		l.returns(1)
		l.advantages(k.baseline)
		if !slices.Equal(l.advantage, k.want) {
			t.Errorf("%s: advantages are %v, want %v", k.baseline, l.advantage, k.want)
		}
	}
	// Of sequences of their own, each is its own mean.
	l := batchOf()
	l.trajectories[1].sequence = 1
	l.returns(1)
	l.advantages(Sequence)
	if want := make([]float32, 4); !slices.Equal(l.advantage, want) {
		t.Errorf("two sequences: advantages are %v, want zeros", l.advantage)
	}
}

// A replayed trajectory weighs Π π/π_old, at most the cap, and the value doesn't learn from it.
func TestImportanceWeights(t *testing.T) {
	old := &trajectory{steps: 2, reward: []float32{1, 1}, discount: []float32{1, 0}, choice: []float32{0, 1},
		obs: rowsOf(1, 2, 4), mask: []bool{true, true, true, true}, logp: []float32{float32(math.Log(0.5)),
			float32(math.Log(0.25))}}
	for _, k := range []struct{ limit, want float64 }{{9, 0.75 * 0.5 / (0.5 * 0.25)}, {2, 2}} {
		l := batchOf()
		l.begin(l.trajectories, []*trajectory{old}, 1, rng.NewStream(1, "test"))
		logp := make([]float32, 6)
		logp[4], logp[5] = float32(math.Log(0.75)), float32(math.Log(0.5))
		l.returns(1)
		l.weigh(logp, k.limit)
		l.advantages(None)
		if math.Abs(l.weights[2]-k.want) > 1e-6 || l.weights[0] != 1 {
			t.Errorf("weights are %v, want 1, 1, %g", l.weights, k.want)
		}
		if math.Abs(float64(l.advantage[4])-2*k.want) > 1e-5 {
			t.Errorf("the advantage is %g, want %g", l.advantage[4], 2*k.want)
		}
		if want := []float32{1, 1, 1, 1, 0, 0}; !slices.Equal(l.own, want) {
			t.Errorf("the value learns from %v, want %v", l.own, want)
		}
	}
}

// The gradient of a batch is the same however many steps a network takes at a time: the padding adds nothing.
func TestPartsChangeNothing(t *testing.T) {
	var want [2][]float32
	for _, rows := range []int{1024, 7, 64} {
		c := quick()
		c.Rows, c.Episodes = rows, 1<<20
		l := learn(t, c, choicetest.Toy{Length: 5}, 300)
		must.Do(t, l.prepare())
		if l.batch.rows() != 300 {
			t.Fatalf("the batch has %d steps, want 300", l.batch.rows())
		}
		must.Get(l.m.policyGradient(&l.batch))(t)
		must.Get(l.m.valueGradient(&l.batch))(t)
		for i, net := range []nets.Net{l.m.(*vectors).u.policy.Net, l.m.(*vectors).u.value.Net} {
			g := make([]float32, nets.Size(net.Grads()))
			net.Grads().Get(g)
			if want[i] == nil {
				want[i] = g
			}
			for j := range g {
				if math.Abs(float64(g[j]-want[i][j])) > 2e-6*(1+math.Abs(float64(want[i][j]))) {
					t.Fatalf("net %d, %d rows: gradient %d is %g, want %g", i, rows, j, g[j], want[i][j])
				}
			}
		}
	}
}

func TestConfigRefused(t *testing.T) {
	for want, change := range map[string]func(*Config){
		`baseline is "mean"`:                func(c *Config) { c.Baseline = "mean" },
		"lambda is 0.5, want 1":             func(c *Config) { c.Baseline, c.Lambda = None, 0.5 },
		"cut is 5, want 0":                  func(c *Config) { c.Baseline, c.Lambda, c.Cut = Sequence, 1, 5 },
		"target_tau is 0.1":                 func(c *Config) { c.Baseline, c.Lambda, c.TargetTau = None, 1, 0.1 },
		"rate is NaN":                       func(c *Config) { c.Rate = math.NaN() },
		"replay.cap is 0":                   func(c *Config) { c.Replay.Cap = 0 },
		"episodes is 0, want 1 to 16777216": func(c *Config) { c.Episodes = 0 },
	} {
		c := Default()
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
}

// An environment in which every episode has a sequence of its own has no mean over a sequence.
func TestSequencesMustRecur(t *testing.T) {
	c := quick()
	c.Baseline, c.Lambda = Sequence, 1
	env := choicetest.NewToy(choicetest.Toy{Length: 5})
	v := must.Get(envs.NewVector(func() (envs.Env, error) { return env, nil }, envs.VectorOptions{NumEnvs: 1}))(t)
	e := native.New(native.Options{})
	ctx := agents.Context{Spec: env.Spec(), NumEnvs: 1, Train: e, Act: e}
	l := must.Get(New(c, ctx))(t)
	must.Do(t, v.Reset())
	if err := l.Act(v); err == nil || !strings.Contains(err.Error(), "want sequences that recur") {
		t.Errorf("error %v", err)
	}
	ctx.NewEnv = func() (envs.Env, error) { return choicetest.NewToy(choicetest.Toy{Length: 5}), nil }
	if _, err := New(c, ctx); err == nil || !strings.Contains(err.Error(), "baseline is sequence") {
		t.Errorf("error %v before training", err)
	}
}

// With all of the rate annealed nothing changes after the planned steps; with half of it something does.
func TestAnneal(t *testing.T) {
	weights := func(anneal float64, steps int64) []float32 {
		c := quick()
		c.Anneal, c.Episodes = anneal, 1
		_, l := choicetest.Train(t, 1, 2, steps, 1,
			func() (envs.Env, error) { return choicetest.NewToy(choicetest.Toy{Length: 5}), nil },
			func(ctx agents.Context) (agents.Learner, error) {
				ctx.Steps = 100
				return New(c, ctx)
			})
		w := make([]float32, nets.Size(l.(*Learner).m.(*vectors).u.policy.Net.Params()))
		l.(*Learner).m.(*vectors).u.policy.Net.Params().Get(w)
		return w
	}
	if !slices.Equal(weights(1, 100), weights(1, 300)) {
		t.Error("weights change after the end of annealing")
	}
	if slices.Equal(weights(0.5, 100), weights(0.5, 300)) {
		t.Error("half the rate is left, and the weights stay")
	}
	if slices.Equal(weights(1, 60), weights(1, 100)) {
		t.Error("weights stay before the end of annealing")
	}
}

// What a learner saves in the middle of episodes brings another to the same state; what is cut off or grown is refused.
func TestSaveAndLoad(t *testing.T) {
	c := quick()
	c.Episodes, c.TargetTau, c.Replay.Trajectories = 3, 0.1, 5
	l := learn(t, c, choicetest.Toy{Length: 7}, 102)
	s := agents.NewState()
	must.Do(t, l.Save(s))
	if l.store.running[0].steps == 0 || len(l.store.old) != 5 || l.m.(*vectors).u.adams[0].Steps() == 0 {
		t.Fatalf("a poor moment to save: %+v", l.store)
	}
	m := learn(t, c, choicetest.Toy{Length: 7}, 0)
	must.Do(t, m.Load(s))
	again := agents.NewState()
	must.Do(t, m.Save(again))
	for name, b := range s.Blobs {
		if !slices.Equal(b, again.Blobs[name]) {
			t.Errorf("%s is not what was saved", name)
		}
	}
	for name, a := range s.Weights {
		if !slices.Equal(a.Data, again.Weights[name].Data) {
			t.Errorf("%s is not what was saved", name)
		}
	}
	whole := s.Blobs["learner"]
	if len(whole) < 1_000 {
		t.Fatalf("the learner's entry has %d bytes, want its trajectories among them", len(whole))
	}
	refused := func(what string, blob []byte) {
		t.Helper()
		s.Blobs["learner"] = blob
		if err := m.Load(s); err == nil {
			t.Fatalf("%s: accepted", what)
		}
		after := agents.NewState()
		must.Do(t, m.Save(after))
		if !slices.Equal(after.Blobs["learner"], whole) || !slices.Equal(after.Weights["policy"].Data,
			again.Weights["policy"].Data) {
			t.Fatalf("%s: refused, but something changed", what)
		}
	}
	s.Weights["policy"].Data[0]++ // loaded before the entry is refused
	for cut := 0; cut < len(whole); cut += 7 {
		refused(fmt.Sprintf("%d of %d bytes", cut, len(whole)), whole[:cut])
	}
	refused("a byte too many", append(slices.Clone(whole), 0))
	body := statetest.Body(whole)
	for cut := 0; cut < len(body); cut += 7 {
		refused(fmt.Sprintf("%d of %d bytes under a checksum", cut, len(body)), statetest.Forge(whole, body[:cut]))
	}
}

// loop returns what does one step of CartPole under the shipped defaults.
func loop(t testing.TB, c Config) func() {
	return choicetest.Loop(t, 8, 1_000, func() (envs.Env, error) { return classic.NewCartPole(classic.DefaultCartPole()) },
		func(ctx agents.Context) (agents.Learner, error) { return New(c, ctx) })
}

// Between updates nothing allocates once trajectories have grown; an update comes once in dozens of steps.
func TestFewAllocations(t *testing.T) {
	c := Default()
	c.Rate = 1e-9 // episodes don't grow
	step := loop(t, c)
	if n := testing.AllocsPerRun(2_000, step); n >= 1 {
		t.Errorf("a step allocates %g times", n)
	}
}

// A step of eight CartPoles, updates included.
func BenchmarkStep(b *testing.B) {
	step := loop(b, Default())
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
	b.ReportMetric(8*float64(b.N)/b.Elapsed().Seconds(), "steps/s")
}
