package spsa

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// begun returns an environment at the beginning of an episode.
func begun(t testing.TB, e envs.Env, seed uint64) envs.Env {
	t.Helper()
	must.Do(t, e.Reset(seed, nil, envs.NewObservation(e.Spec())))
	return e
}

// searching is a configuration for a quadratic: it starts at the given point, and a slope of 1 counts as 1.
func searching(o *quadraticOptions, start []float64) Config {
	c := Default()
	c.Objective = "profit"
	c.Prices.Start, c.Baselines.Start = start[:o.prices], start[o.prices:]
	c.Prices.Unit, c.Baselines.Unit, c.Baselines.Most = 1, 1, 0
	return c
}

func newPricer(t testing.TB, c Config, spare envs.Env, seed uint64) *Pricer {
	t.Helper()
	p := must.Get(NewPricer(c, spare, seed))(t)
	return p
}

// theory is the variance of the estimate of component i on a quadratic with the given slopes, K pairs, and independent
// noise of deviation own at different actions (docs/results/spsa/theory.md derives it):
//
//	[Σ_{j≠i} (c_j/c_i)² s_j² + (1 + (K−1)/2^{d−1}) σ²/(2c_i²)] / K
//
// over the d components that are perturbed together. The factor of the noise is there because a pair that is drawn
// twice in a window runs on the same copies twice, and adds no information.
func theory(c *Config, o *quadraticOptions, slopes []float64, i int) float64 {
	width := func(j int) float64 {
		if j < o.prices {
			return c.Prices.Perturbation
		}
		return c.Baselines.Perturbation
	}
	v, d, k := 0.0, 0, float64(c.Pairs)
	for j, s := range slopes {
		if !c.Joint && (i < o.prices) != (j < o.prices) {
			continue
		}
		d++
		if j != i {
			v += math.Pow(width(j)/width(i)*s, 2)
		}
	}
	return (v + (1+(k-1)/math.Exp2(float64(d-1)))*o.own*o.own/(2*width(i)*width(i))) / k
}

// Bias and variance of eq. 12 on a noisy quadratic are what theory says, in every mode. Deviations are in standard
// errors; the bound is corrected for their number.
func TestEstimatorOnQuadratic(t *testing.T) {
	n := 20_000
	if *long {
		n = 400_000
	}
	o := quadraticOptions{
		prices: 3, baselines: 2, length: 1 << 30, most: 64, common: 5,
		best: []float64{1, 0.5, -1, 20, 10},
		h: [][]float64{{2, 0.5, 0, 0.1, 0}, {0.5, 1, 0.25, 0, 0}, {0, 0.25, 3, 0, 0.2}, {0.1, 0, 0, 0.5, 0.05},
			{0, 0, 0.2, 0.05, 0.25}},
	}
	at := []float64{0.5, 1.25, -0.5, 18, 11}
	for _, c := range []struct {
		name  string
		pairs int
		joint bool
		own   float64
	}{
		{"blockwise", 1, false, 0}, {"blockwise, noise", 1, false, 0.3}, {"blockwise, noise, 4 pairs", 4, false, 0.3},
		{"joint", 1, true, 0}, {"joint, noise, 3 pairs", 3, true, 0.3},
	} {
		o := o
		o.own = c.own
		conf := searching(&o, at)
		conf.Pairs, conf.Joint = c.pairs, c.joint
		p := newPricer(t, conf, newQuadratic(o), 7)
		world := begun(t, newQuadratic(o), 3)
		act, obs, out := envs.NewAction(world.Spec()), envs.NewObservation(world.Spec()), envs.NewOutcome(world.Spec())
		p.Action(act.Kinds[0])
		slopes, d := make([]float64, len(at)), make([]sample, len(at))
		for i := range slopes {
			slopes[i] = o.slope(at, i)
		}
		for range n {
			clear(p.estimate)
			must.Do(t, p.Estimate(world))
			for i, g := range p.estimate {
				d[i].add(g/float64(c.pairs) - slopes[i])
			}
			if err := world.Step(act, obs, out); err != nil { // a window with other noise
				t.Fatal(err)
			}
		}
		var bias, worst, off float64
		ratios := ""
		for i := range d {
			v := theory(&conf, &o, slopes, i)
			bias = max(bias, math.Abs(d[i].mean())/math.Sqrt(v/float64(n)))
			worst = max(worst, math.Abs(d[i].variance()-v)/d[i].varianceError())
			off = max(off, math.Abs(d[i].variance()/v-1))
			ratios += fmt.Sprintf(" %.4f", d[i].variance()/v)
		}
		proof.Claim(t, proof.Row{
			Topic: "agents",
			Claim: fmt.Sprintf("Two-point estimates on a noisy quadratic of 3 prices and 2 baselines (%s): bias and variance against theory, largest of 5 components in standard errors over %d estimates", c.name, n),
			Bound: "4.1 for each (two-sided 0.2 % over the 50 comparisons of all modes)",
			Measured: fmt.Sprintf("bias %.2f, variance %.2f (at most %.2f %% off; measured over theory:%s)", bias, worst,
				100*off, ratios),
			Holds: bias < 4.1 && worst < 4.1,
		})
	}
}

// sample sums powers of a number whose expectation is 0 if the theory is right.
type sample struct{ n, s1, s2, s4 float64 }

func (s *sample) add(x float64) {
	s.n++
	s.s1 += x
	s.s2 += x * x
	s.s4 += x * x * x * x
}

func (s *sample) mean() float64     { return s.s1 / s.n }
func (s *sample) variance() float64 { return s.s2 / s.n }

// varianceError is the standard error of variance, not below what rounding leaves: two perturbed components without
// noise are always equally far off.
func (s *sample) varianceError() float64 {
	v := s.variance()
	return max(math.Sqrt(max(s.s4/s.n-v*v, 0)/s.n), 1e-9*v)
}

// expected is the estimate's expectation over Δ, by enumerating all of them.
func expected(t *testing.T, p *Pricer, world envs.Env) []float64 {
	t.Helper()
	n := len(p.x)
	clear(p.estimate)
	for signs := range 1 << n {
		for i := range n {
			p.delta[i] = float64(signs>>i&1)*2 - 1
		}
		must.Do(t, p.along(world))
	}
	g := make([]float64, n)
	for i := range g {
		g[i] = p.estimate[i] / float64(int(1)<<n)
	}
	clear(p.estimate)
	return g
}

// Theorem 1 calls the estimate unbiased. On a cubic it isn't: its bias is (c²/6)(Φ_iii + 3 Σ_{j≠i} Φ_ijj), Spall's
// O(c²) with its constant. All numbers are dyadic, so that float32 actions are exact.
func TestBiasIsQuadraticInPerturbation(t *testing.T) {
	o := plain(3, 0, 1, 0)
	o.cubic = 0.5
	x := []float64{0.5, -0.25, 1}
	worst, told := 0.0, ""
	for _, c := range []float64{0.5, 0.25, 0.125, 0.0625} {
		conf := searching(&o, x)
		conf.Prices.Perturbation = c
		p := newPricer(t, conf, newQuadratic(o), 1)
		g := expected(t, p, begun(t, newQuadratic(o), 1))
		for i := range g {
			// Φ_iii = 6κ and Φ_ijj = 2κ for κ·Σ_ij d_i d_j².
			bias := c * c / 6 * (6*o.cubic + 3*2*2*o.cubic)
			worst = max(worst, math.Abs(g[i]-o.slope(x, i)-bias)/bias)
		}
		told += fmt.Sprintf(" %g at c = %g,", g[0]-o.slope(x, 0), c)
	}
	proof.Claim(t, proof.Row{
		Topic: "agents",
		Claim: "Two-point estimates on a cubic: bias against (c²/6)(Φ_iii + 3 Σ Φ_ijj), all perturbations enumerated",
		Bound: "1e-12 relative", Measured: fmt.Sprintf("%.1e (bias%s)", worst, told[:len(told)-1]), Holds: worst < 1e-12,
	})
}

// On HOPS's demand the bias of the published perturbation changes the point where the search stops by little.
func TestBiasOfPublishedPerturbation(t *testing.T) {
	best := optimum(recommended)
	o := marketOptions{demand: recommended, steady: true, jobs: marketJobs, length: 1 << 30}
	var away [2]float64
	for k, c := range []float64{0.05, 0.2} {
		conf := pricing(best[:])
		conf.Prices.Perturbation = c
		p := newPricer(t, conf, newMarket(o), 1)
		world := begun(t, newMarket(o), 1)
		for range 40 { // the Hessian at the optimum is −β diag(q_m g_m)
			q := marketShares([3]float64(p.x))
			for m, g := range expected(t, p, world) {
				p.x[m] += g / (marketBeta * q[m] * recommended[m] * marketJobs)
			}
		}
		for m := range best {
			away[k] = max(away[k], math.Abs(p.x[m]/best[m]-1))
		}
	}
	proof.Claim(t, proof.Row{
		Topic:    "agents",
		Claim:    "HOPS's demand: where the expected estimate is zero with c = 0.05, away from the optimum (with c = 0.2)",
		Bound:    "0.2 % of each price, a tenth of the 2 % asked for",
		Measured: fmt.Sprintf("%.3f %% (%.2f %%)", 100*away[0], 100*away[1]), Holds: away[0] < 0.002,
	})
}
