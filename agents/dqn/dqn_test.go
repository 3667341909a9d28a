package dqn

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// quick learns the toy in a second.
func quick() Config {
	c := Default()
	c.Hidden, c.Rate, c.Batch, c.Replay, c.LearningStarts, c.UpdateEvery, c.TargetEvery = []int{16}, 5e-3, 32, 2_000, 100,
		4, 100
	c.Gamma = 0.5
	return c
}

func learn(t testing.TB, c Config, toy choicetest.Toy, steps int64) *Learner {
	t.Helper()
	_, l := choicetest.Train(t, 1, 2, steps, 1, func() (envs.Env, error) { return choicetest.NewToy(toy), nil },
		func(ctx agents.Context) (agents.Learner, error) { return New(c, ctx) })
	return l.(*Learner)
}

// The toy refuses illegal choices, so that learning it to the end shows that none is ever made, random ones included.
func TestLearnsUnderMasks(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"plain": func(*Config) {}, "double": func(c *Config) { c.Double = true }, "huber": func(c *Config) { c.Loss = Huber },
		"soft target": func(c *Config) { c.Tau, c.TargetEvery = 0.1, 20 }, "seconds": func(c *Config) { c.GammaSeconds = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			c := quick()
			change(&c)
			l := learn(t, c, choicetest.Toy{Length: 5}, 8_000)
			p := must.Get(l.Policy())(t)
			sum, n := 0.0, uint64(200)
			r := rollout.NewRunner(choicetest.NewToy(choicetest.Toy{Length: 5}))
			for seed := range n {
				e := must.Get(r.Episode(rollout.Actor{Policy: p}, 1<<40+seed))(t)
				sum += e.Return / 5
			}
			if mean := sum / float64(n); mean < 1.6 {
				t.Errorf("a step pays %.3f, want 5/3", mean)
			}
		})
	}
}

// A target that is due several times in a round of updates moves as often, and never for the steps before the first round.
func TestTargetFollowsAsOftenAsDue(t *testing.T) {
	c := quick()
	c.TargetEvery, c.Tau, c.UpdateEvery = 1, 0.1, 6
	l := learn(t, c, choicetest.Toy{Length: 5}, 400)
	get := func(n nets.Net) []float32 {
		x := make([]float32, nets.Size(n.Params()))
		n.Params().Get(x)
		return x
	}
	for _, k := range []struct {
		updates, steps int64 // target updates so far, and steps
		share          float64
	}{{394, 400, 1 - math.Pow(0.9, 6)}, {399, 400, 0.1}, {0, 400, 0.1}, {400, 400, 0}} {
		l.targetUpdates, l.Steps = k.updates, k.steps
		before, net := get(l.update.target), get(l.update.net)
		l.EndRound()
		for i, x := range get(l.update.target) {
			want := float64(before[i]) + k.share*(float64(net[i])-float64(before[i]))
			if math.Abs(float64(x)-want) > 1e-6 {
				t.Fatalf("%d of %d target updates: number %d becomes %g, want %g", k.updates, k.steps, i, x, want)
			}
		}
	}
}

// Where everything pays 1 a state is worth 1/(1−γ) if episodes are cut, and 1 if the world ends with each step.
func TestTruncationBootstraps(t *testing.T) {
	for _, k := range []struct {
		cut  bool
		want float64
	}{{true, 2}, {false, 1}} {
		l := learn(t, quick(), choicetest.Toy{Length: 1, Cut: k.cut, Flat: true}, 6_000)
		seen := make([]float32, 2*4)
		seen[0], seen[2], seen[4], seen[7] = 1, 1, -1, 1
		must.Do(t, l.actor.Run(seen, []bool{true, true}))
		for i, q := range slices.Concat(l.actor.Row(0, 0), l.actor.Row(1, 0)) {
			if i != 1 && i != 5 && math.Abs(float64(q)-k.want) > 0.1 { // 1 and 5: illegal, never tried
				t.Errorf("cut %v: value %d is %.3f, want %g", k.cut, i, q, k.want)
			}
		}
	}
}

// The update's gradient against a linear network's by hand, whose choices that are illegal have the largest values.
func TestUpdateByHand(t *testing.T) {
	const batch, obs, n = 7, 3, 4
	for _, double := range []bool{false, true} {
		for _, loss := range []string{Squared, Huber} {
			c := quick()
			c.Hidden, c.Batch, c.Double, c.Loss, c.Gamma = nil, batch, double, loss, 0.9
			e := native.New(native.Options{DType: nets.Float64})
			arch := nets.MLP{Agents: 1, In: []nets.Port{{Name: "observation", Width: obs}}, Out: n, Activation: nets.ReLU}
			u := must.Get(newUpdate(&c, arch, e, rng.New(1, "test")))(t)
			s := rng.NewStream(1, "batch")
			draw := func(size int) []float64 {
				x := make([]float64, size)
				for i := range x {
					x[i] = float64(float32(s.Norm()))
				}
				return x
			}
			w, w2 := draw((obs+1)*n), draw((obs+1)*n)
			w[obs*n+2], w2[obs*n+2] = 50, 40 // the bias of choice 2, illegal in every next state
			u.net.Params().Set64(w)
			u.target.Params().Set64(w2)
			b := newBatch(batch, obs, n)
			for i := range b.s {
				b.s[i], b.s2[i] = float32(s.Norm()), float32(s.Norm())
			}
			for i := range batch {
				b.a[i], b.r[i], b.discount[i] = float32(s.IntN(n)), float32(s.Norm()), 0.9
				for k := range n {
					b.mask2[i*n+k] = 1
				}
				b.mask2[i*n+2] = 0
			}
			b.discount[1] = 0
			clear(b.mask2[3*n : 4*n]) // nobody is there any more
			u.s.Set(b.s)
			u.s2.Set(b.s2)
			q := func(w []float64, x []float32, k int) float64 {
				y := w[obs*n+k]
				for j, v := range x {
					y += float64(v) * w[j*n+k]
				}
				return y
			}
			want := make([]float64, (obs+1)*n)
			for i := range batch {
				x, x2 := b.s[i*obs:(i+1)*obs], b.s2[i*obs:(i+1)*obs]
				y, best := float64(b.r[i]), -1
				by := w2
				if double {
					by = w
				}
				for k := range n {
					if b.mask2[i*n+k] == 1 && (best < 0 || q(by, x2, k) > q(by, x2, best)) {
						best = k
					}
				}
				if best >= 0 && b.discount[i] > 0 {
					y += float64(b.discount[i]) * q(w2, x2, best)
				}
				a := int(b.a[i])
				slope := 2 * (q(w, x, a) - y)
				if loss == Huber {
					slope = min(max(q(w, x, a)-y, -1), 1)
				}
				for j, v := range x {
					want[j*n+a] += slope * float64(v) / batch
				}
				want[obs*n+a] += slope / batch
			}
			must.Do(t, u.run(&b))
			got := make([]float64, len(want))
			u.net.Grads().Get64(got)
			for i := range want {
				if math.Abs(got[i]-want[i]) > 1e-5 { // targets pass through float32
					t.Errorf("double %v, %s: gradient %d is %g, want %g", double, loss, i, got[i], want[i])
				}
			}
		}
	}
}

func TestEpsilonFalls(t *testing.T) {
	l := &Learner{c: Config{Epsilon: 1, EpsilonFinal: 0.1, EpsilonShare: 0.5}, ctx: agents.Context{Steps: 100}}
	for _, k := range []struct {
		steps int64
		want  float64
	}{{0, 1}, {25, 0.55}, {50, 0.1}, {90, 0.1}} {
		if l.Steps = k.steps; math.Abs(l.epsilon()-k.want) > 1e-12 {
			t.Errorf("after %d steps it is %g, want %g", k.steps, l.epsilon(), k.want)
		}
	}
}

func TestConfigRefused(t *testing.T) {
	for want, change := range map[string]func(*Config){
		`loss is "l1"`: func(c *Config) { c.Loss = "l1" }, "rate is NaN": func(c *Config) { c.Rate = math.NaN() },
		"batch is 100, want at most the 50": func(c *Config) { c.Batch, c.Replay = 100, 50 },
		"hidden[1] is 0":                    func(c *Config) { c.Hidden = []int{1, 0} },
		"tau is 0, want more than 0":        func(c *Config) { c.Tau = 0 },
		"epsilon is 2":                      func(c *Config) { c.Epsilon = 2 },
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

// What a learner saves brings another to the same weights, choices and draws.
func TestSaveAndLoad(t *testing.T) {
	l := learn(t, quick(), choicetest.Toy{Length: 5}, 1_000)
	s := agents.NewState()
	must.Do(t, l.Save(s))
	m := learn(t, quick(), choicetest.Toy{Length: 5}, 0)
	must.Do(t, m.Load(s))
	if m.Steps != l.Steps || m.explore.Uint64() != l.explore.Uint64() || m.update.adam.Steps() != l.update.adam.Steps() {
		t.Error("counters or streams differ")
	}
	x := make([]float32, nets.Size(l.update.net.Params()))
	y := make([]float32, len(x))
	l.update.net.Params().Get(x)
	m.actor.Net.Params().Get(y)
	if !slices.Equal(x, y) {
		t.Error("weights differ")
	}
	delete(s.Blobs, "streams")
	if err := m.Load(s); err == nil || !strings.Contains(err.Error(), "streams") {
		t.Errorf("a state without a stream gave %v", err)
	}
	s.Counters["steps"] = -1
	if err := m.Load(s); err == nil || !strings.Contains(err.Error(), `"steps" of the state is -1`) {
		t.Errorf("a negative count gave %v", err)
	}
}

func TestProblemsRefused(t *testing.T) {
	e := native.New(native.Options{})
	env := must.Get(classic.NewLQR(classic.DefaultLQR()))(t)
	if _, err := New(Default(), agents.Context{Spec: env.Spec(), NumEnvs: 1, Train: e, Act: e}); err == nil ||
		!strings.Contains(err.Error(), "want Discrete") {
		t.Errorf("a continuous action gave %v", err)
	}
	toy := choicetest.NewToy(choicetest.Toy{Length: 1})
	double := native.New(native.Options{DType: nets.Float64})
	if _, err := New(Default(), agents.Context{Spec: toy.Spec(), NumEnvs: 1, Train: double, Act: e}); err == nil ||
		!strings.Contains(err.Error(), "want float32") {
		t.Errorf("float64 gave %v", err)
	}
}

// loop returns what does one step of CartPole under the shipped defaults, past the beginning.
func loop(t testing.TB) func() {
	return choicetest.Loop(t, 1, 11_000,
		func() (envs.Env, error) { return classic.NewCartPole(classic.DefaultCartPole()) },
		func(ctx agents.Context) (agents.Learner, error) { return New(Default(), ctx) })
}

func TestNoAllocations(t *testing.T) {
	step := loop(t)
	if n := testing.AllocsPerRun(500, step); n > 0 {
		t.Errorf("a step allocates %g times", n)
	}
}

// A step of CartPole with CleanRL's settings, a tenth of an update included.
func BenchmarkStep(b *testing.B) {
	step := loop(b)
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
}

// Ties go to the first, and illegal values of any size stay out of the maximum.
func TestTargetsUnderMasks(t *testing.T) {
	b := newBatch(2, 1, 3)
	copy(b.q2, []float32{9, 1, 1, 9, 2, 3})
	copy(b.online2, []float32{9, 1, 1, 9, 5, 4})
	copy(b.mask2, []float32{0, 1, 1, 0, 1, 1})
	copy(b.discount, []float32{0.5, 0.5})
	b.a[1] = 2
	b.targets(false)
	if want := []float32{0.5, 0, 0, 0, 0, 1.5}; !slices.Equal(b.y, want) {
		t.Errorf("targets are %v, want %v", b.y, want)
	}
	b.targets(true)
	if want := []float32{0.5, 0, 0, 0, 0, 1}; !slices.Equal(b.y, want) {
		t.Errorf("double: targets are %v, want %v", b.y, want)
	}
	if want := []float32{1, 0, 0, 0, 0, 1}; !slices.Equal(b.taken, want) {
		t.Errorf("taken is %v, want %v", b.taken, want)
	}
	if choice.None >= 0 {
		t.Error("None is a choice")
	}
}
