package ppo

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/nets/enginestest"
	"github.com/stoker-rl/stoker/rng"
)

// numeric is the derivative of f at x by central differences.
func numeric(f func(x float64) float64, x float64) float64 {
	const h = 1e-5
	return (f(x+h) - f(x-h)) / (2 * h)
}

// The slopes of both losses are their derivatives, clipped or not.
func TestLosses(t *testing.T) {
	var m metrics
	s := rng.NewStream(1, "losses")
	clipped, held := 0, 0
	for range 500 {
		old, a, logp := s.Norm(), s.Norm(), 0.0
		logp = old + 0.4*s.Norm()
		at := func(x float64) (loss, slope float64) { return m.surrogate(x-old, math.Exp(x-old), a, 0.2) }
		_, slope := at(logp)
		want := -numeric(func(x float64) float64 { l, _ := at(x); return l }, logp)
		if math.Abs(slope-want) > 1e-6 {
			t.Fatalf("ln π %g, before %g, A %g: slope %g, want %g", logp, old, a, slope, want)
		}
		if slope == 0 {
			clipped++
		}
		v, before, ret := s.Norm(), s.Norm(), s.Norm()
		for _, clip := range []bool{true, false} {
			_, slope = valueLoss(v, before, ret, 0.2, clip)
			want = numeric(func(x float64) float64 { l, _ := valueLoss(x, before, ret, 0.2, clip); return l }, v)
			if math.Abs(slope-want) > 1e-6 {
				t.Fatalf("V %g, before %g, R %g, clip %v: slope %g, want %g", v, before, ret, clip, slope, want)
			}
			if clip && slope == 0 {
				held++
			}
		}
	}
	if clipped < 50 || held < 50 {
		t.Errorf("%d and %d of 500 were clipped: nothing was tried", clipped, held)
	}
}

// fixture is a model with a minibatch of drawn samples, on an engine.
type fixture struct {
	c Config
	m *vectors
	p *part
}

// newFixture makes a model of a kind of agents; with n samples, of which the last group has fewer.
func newFixture(t *testing.T, e nets.Engine, c Config, kind envs.Kind, n int) *fixture {
	t.Helper()
	spec := &envs.Spec{ID: "test/E-v1", Kinds: []envs.Kind{kind}}
	ctx := agents.Context{Spec: spec, NumEnvs: 1, Train: e, Act: e, Seed: 1}
	f := &fixture{c: c}
	p := must.Get(newPart(&f.c, &ctx, 0, rng.New(1, "fixture")))(t)
	f.p, f.m = p, p.m.(*vectors)
	must.Do(t, f.m.Sync())
	s, b := rng.NewStream(1, "samples"), p.buf
	for i := range n {
		row := i % kind.Agents
		b.row, b.end = append(b.row, int32(row)), append(b.end, -1)
		for range f.m.obs {
			b.obs.(*vectorRows).all = append(b.obs.(*vectorRows).all, float32(s.Norm()))
		}
		for _, n := range b.components {
			a := s.IntN(n)
			b.action = append(b.action, float32(a))
			for k := range n {
				b.mask = append(b.mask, k == a || s.IntN(3) > 0)
			}
		}
		for range b.width - len(b.components) {
			b.action = append(b.action, float32(s.Norm()))
		}
		b.logp = append(b.logp, float32(-1.5+0.3*s.Norm()))
		p.value, p.ret = append(p.value, float32(0.3*s.Norm())), append(p.ret, s.Norm())
		p.advantage = append(p.advantage, s.Norm())
	}
	p.shuffle(rng.NewStream(1, "order"))
	for g := range p.order {
		p.batch.samples[g] = p.order[g]
		p.batch.standardise(g, false)
	}
	return f
}

// kinds are one of each action space.
func kinds() map[string]envs.Kind {
	return map[string]envs.Kind{
		"choice":     {Name: "a", Agents: 2, Observation: envs.Unbounded(3), Action: envs.Discrete{N: 4}},
		"choices":    {Name: "a", Agents: 2, Observation: envs.Unbounded(3), Action: envs.MultiDiscrete{N: []int{2, 3}}},
		"continuous": {Name: "a", Agents: 2, Observation: envs.Unbounded(3), Action: envs.NewBox(2, -1, 1)},
	}
}

func fixtureConfig(shared bool) Config {
	c := quick()
	c.Hidden, c.Rollout, c.Minibatches, c.Entropy, c.Shared, c.LogStd, c.Clip = []int{4}, 9, 1, 0.3, shared, -0.4, 0
	return c
}

// losses are the policy's and the value's loss of a fixture, summed over groups of weights.
func (f *fixture) losses(t *testing.T) (policy, value float64) {
	t.Helper()
	m, b := f.m, &f.p.batch
	must.Do(t, m.readDeviation())
	m.gather(b.buf.obs.(*vectorRows), b.samples)
	out, v := make([]float64, m.groups*m.rows*m.outputs), make([]float64, m.groups*m.rows)
	m.policy.Forward(m.s).Get64(out)
	m.value.Forward(m.s).Get64(v)
	for g, list := range b.samples {
		var sums metrics
		sum, logp, entropy := 0.0, make([]float64, len(list)), make([]float64, len(list))
		m.head.samples(g, out[g*m.rows*m.outputs:], b.buf, list, logp, entropy)
		for i, s := range list {
			ln := logp[i] - float64(b.buf.logp[s])
			l, _ := sums.surrogate(ln, math.Exp(ln), b.advantage[g][i], f.c.ClipRange)
			policy += (l - f.c.Entropy*entropy[i]) / float64(len(list))
			l, _ = valueLoss(v[g*m.rows+i], float64(b.value[s]), b.ret[s], f.c.ClipRange, f.c.ValueClip)
			sum += l / float64(len(list))
		}
		value += sum
	}
	return policy, value
}

// The gradient of a whole step, by every parameter of every network, against central differences in float64.
func TestGradients(t *testing.T) {
	for name, kind := range kinds() {
		for _, shared := range []bool{true, false} {
			e := must.Get(engines.Open(engines.Native, engines.Options{DType: nets.Float64}))(t)
			f := newFixture(t, e, fixtureConfig(shared), kind, 15)
			for _, a := range f.m.adams {
				a.SetRate(0)
			}
			var sums metrics
			must.Do(t, f.m.step(&f.p.batch, &f.c, &sums))
			for i, net := range []nets.Net{f.m.policy.Net, f.m.value.Net, f.m.deviation.Net}[:len(f.m.adams)] {
				n := nets.Size(net.Params())
				grads, params := make([]float64, n), make([]float64, n)
				net.Grads().Get64(grads)
				net.Params().Get64(params)
				for k, x := range params {
					want := numeric(func(x float64) float64 {
						params[k] = x
						net.Params().Set64(params)
						policy, value := f.losses(t)
						return policy + value
					}, x)
					params[k] = x
					net.Params().Set64(params)
					tolerance := 1e-6
					if i == 2 {
						tolerance = 5e-3 // what is read of ln σ is rounded to float32
					}
					if math.Abs(grads[k]-want) > tolerance {
						t.Errorf("%s, shared %v, network %d: ∂L/∂θ[%d] is %g, want %g", name, shared, i, k, grads[k], want)
					}
				}
			}
		}
	}
}

// All engines of this binary leave the same parameters after an update of two gradient steps.
func TestEnginesAgree(t *testing.T) {
	for name, kind := range kinds() {
		for _, shared := range []bool{true, false} {
			var want [][]float32
			for _, engine := range enginestest.Names() {
				e := must.Get(enginestest.Open(engine, nets.Float32))(t)
				c := fixtureConfig(shared)
				f := newFixture(t, e, c, kind, 15)
				var sums metrics
				for range 2 {
					must.Do(t, f.m.step(&f.p.batch, &f.c, &sums))
				}
				var got [][]float32
				for _, net := range []nets.Net{f.m.policy.Net, f.m.value.Net, f.m.deviation.Net}[:len(f.m.adams)] {
					p := make([]float32, nets.Size(net.Params()))
					net.Params().Get(p)
					got = append(got, p)
				}
				if want == nil {
					want = got
				}
				for i := range got {
					for k := range got[i] {
						if d := float64(got[i][k] - want[i][k]); !(math.Abs(d) <= 0.2*c.Rate) {
							t.Errorf("%s, shared %v: %s differs by %g in θ[%d] of network %d, want 0.2 of a step of %g", name, shared,
								engine, d, k, i, c.Rate)
						}
					}
				}
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}
