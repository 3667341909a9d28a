package maddpg

import (
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets/native"
)

// meanReturn is the present policy's mean return without exploration, over 200 episodes that training didn't use.
func (r *run) meanReturn(o toyOptions) float64 {
	r.t.Helper()
	p, err := r.l.Policy()
	if err != nil {
		r.t.Fatal(err)
	}
	runner := rollout.NewRunner(newToy(o))
	var sum float64
	for seed := range uint64(200) {
		e, err := runner.Episode(rollout.Actor{Policy: p}, 1_000_000+seed)
		if err != nil {
			r.t.Fatal(err)
		}
		sum += e.Return
	}
	return sum / 200
}

// TestLearnsTheBandit: in one-step episodes with reward −(x − ideal(o))², summed over two components, every form finds
// the ideal: random actions earn about −3.5, the best 0. With choices random actions earn 1/3 and the best 1.
func TestLearnsTheBandit(t *testing.T) {
	for _, mix := range []string{Attention, Mean, Joint, Single, None} {
		for _, choices := range []bool{false, true} {
			name, floor := mix+", continuous", -0.2
			if choices {
				name, floor = mix+", choices", 0.9
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := quick()
				c.Mix, c.Batch, c.Replay, c.ActorRate, c.CriticRate = mix, 32, 5_000, 1e-3, 3e-3
				c.RandomSteps, c.LearningStarts, c.UpdateEvery, c.Noise, c.NoiseFinal = 200, 200, 4, 0.3, 0.05
				c.NoiseSteps, c.Gamma = 4_000, 0
				o := toyOptions{agents: 2, choices: choices, end: true}
				r := newRun(t, c, o, envs.VectorOptions{NumEnvs: 4})
				r.steps(1_200)
				if got := r.meanReturn(o); got < floor {
					t.Errorf("return after learning is %.3f, want at least %g", got, floor)
				}
			})
		}
	}
}

// TestGoldenTrace compares learning itself, bit for bit: hashes of all parameters after every 100 updates, with the
// assembly's kernels and with plain Go's on amd64 (other architectures may fuse multiply and add). The hashes were
// recorded when TestGradients had passed. Record them again only after a change of arithmetic, of draws or of their
// order.
func TestGoldenTrace(t *testing.T) {
	family := native.New(native.Options{}).Info().Kernels
	for _, k := range []struct {
		name string
		set  func(*Config)
		o    toyOptions
		want map[string][3]string // by family
	}{
		{"attention", func(*Config) {}, toyOptions{agents: 3, length: 5},
			map[string][3]string{
				"go-amd64": {"8d7cf0344150bb6e", "71f552da000c0334", "858fd2d01720a757"},
				"x86-fma":  {"342dd4916bdea8fe", "7be7439653b52214", "e2ba4f385f39182e"},
			}},
		{"joint, choices", func(c *Config) { c.Mix = Joint }, toyOptions{agents: 2, length: 5, choices: true},
			map[string][3]string{
				"go-amd64": {"9053784ee67914b4", "d2fb9b735544fc6c", "d012cfb6de13f770"},
				"x86-fma":  {"30242246b0672744", "024924e2048eae8b", "8222f86c5a7fcefa"},
			}},
		{"joint, choices, independent minibatches", func(c *Config) { c.Mix, c.Batches = Joint, Independent },
			toyOptions{agents: 3, length: 5, choices: true},
			map[string][3]string{
				"go-amd64": {"ff6eb7586f46671b", "6a5c8fc06c739cc4", "65ca4a50dfebccb8"},
				"x86-fma":  {"fed1d99d5ce8161e", "1376cb8637e94374", "84ffec411cbd341c"},
			}},
	} {
		c := quick()
		c.UpdateEvery = 1
		k.set(&c)
		r := newRun(t, c, k.o, envs.VectorOptions{NumEnvs: 5})
		r.steps(4) // 20 steps of warming up
		var got [3]string
		for i := range got {
			r.steps(20)
			got[i] = r.hash()
		}
		want, ok := k.want[family]
		if !ok {
			t.Skipf("no trace is recorded for the kernel family %s", family)
		}
		if got != want {
			t.Errorf("%s: parameters after 100, 200 and 300 updates on %s: %q, want %q", k.name, family, got, want)
		}
	}
}

// benchmark measures updates at the sizes of the speed tables: observations of 10, actions of 4, about four neighbours.
func benchmarkUpdate(b *testing.B, n int) {
	spec := envs.Spec{ID: "test/Sizes-v1", Kinds: []envs.Kind{{
		Name: "function", Agents: n, Observation: envs.Unbounded(10), Action: envs.NewBox(4, 0, 1),
		Neighbours: make([][]int, n),
	}}}
	for i := range n {
		for d := 1; d <= min(4, n-1); d++ {
			spec.Kinds[0].Neighbours[i] = append(spec.Kinds[0].Neighbours[i], (i+d)%n)
		}
	}
	e := native.New(native.Options{})
	c := Default()
	l := must.Get(New(c, agents.Context{Spec: &spec, NumEnvs: 1, Train: e, Act: e, Seed: 1, Steps: 1_000}))(b)
	for range 1_000 {
		row := l.memory.buf.Add()
		for i, col := range l.memory.buf.Columns() {
			for j := range col.Width {
				row.Column(i)[j] = float32(l.explore.Float64())
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		l.Pending = 1
		must.Do(b, l.Update())
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "updates/s")
}

func BenchmarkUpdate5x64(b *testing.B)  { benchmarkUpdate(b, 5) }
func BenchmarkUpdate12x64(b *testing.B) { benchmarkUpdate(b, 12) }

// BenchmarkStep is acting and storing transitions for eight copies, without updates.
func BenchmarkStep(b *testing.B) {
	c := quick()
	c.LearningStarts = 1e9
	r := newRun(b, c, toyOptions{agents: 5}, envs.VectorOptions{NumEnvs: 8})
	r.steps(10)
	b.ReportAllocs()
	for b.Loop() {
		r.step()
	}
}

func BenchmarkPolicy(b *testing.B) {
	o := toyOptions{agents: 5}
	r := newRun(b, Default(), o, envs.VectorOptions{})
	p := must.Get(r.l.Policy())(b)
	e := newToy(o)
	obs, act := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec())
	must.Do(b, e.Reset(1, nil, obs))
	b.ReportAllocs()
	for b.Loop() {
		must.Do(b, p.Act(obs, act, true))
	}
}
