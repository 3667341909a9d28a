package ppo

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents/check"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// gaussian draws each component u of a continuous action from a normal distribution with the network's output μ as its
// mean. Its deviation σ is learned, and does not depend on what is seen:
//
//	ln π(u) = Σ −½((u − μ)/σ)² − ln σ − ½ ln 2π,   H = Σ ln σ + ½ ln 2πe
//	∂ ln π/∂μ = (u − μ)/σ²,   ∂ ln π/∂ ln σ = ((u − μ)/σ)² − 1,   ∂H/∂ ln σ = 1
//
// The environment's action follows from u by the bounds: see [gaussian.bounded]. The probabilities are those of u. For
// tanh the ratio π/π_old is that of the actions too, since the factor of the change of variables cancels.
type gaussian struct {
	box    envs.Box
	bounds string
	logStd [][]float64 // [groups][components]
	// grad is ∂L/∂ ln σ, the sum of what gradient has added.
	grad [][]float64
	// Of the last sample: (u − μ)/σ.
	z []float64
}

func newGaussian(b envs.Box, groups int, bounds string, logStd float64) *gaussian {
	n := b.Width()
	g := &gaussian{box: b, bounds: bounds, z: make([]float64, n)}
	for range groups {
		std := make([]float64, n)
		for i := range std {
			std[i] = logStd
		}
		g.logStd, g.grad = append(g.logStd, std), append(g.grad, make([]float64, n))
	}
	return g
}

func (a *gaussian) sizes() (outputs, width, choices int) { return len(a.z), len(a.z), 0 }

var halfLog2Pi = portable.Log(2*math.Pi) / 2

func (a *gaussian) act(g int, out []float32, _ *envs.KindObservation, _ int, s *rng.Stream, act, stored []float32,
	_ []bool) (logp float64, err error) {
	if i := check.NotFinite(out); i >= 0 {
		return 0, fmt.Errorf("the network gives %g for component %d: training has diverged; a smaller rate, or clip, help",
			out[i], i)
	}
	for i, mu := range out {
		z := 0.0
		stored[i] = mu
		if s != nil {
			std := portable.Exp(a.logStd[g][i])
			stored[i] = float32(float64(mu) + float64(std*s.Norm()))
			z = float64(float64(stored[i])-float64(mu)) / std
		}
		act[i] = a.bounded(i, float64(stored[i]))
		logp -= float64(z*z/2) + a.logStd[g][i] + halfLog2Pi
	}
	return logp, nil
}

// bounded is component i of the environment's action: u where it has no bounds, cut at one bound where it has one.
// Between two bounds −1 stands for the lower one and 1 for the upper one. Whole-numbered components are rounded.
func (a *gaussian) bounded(i int, u float64) float32 {
	low, high := float64(a.box.Low[i]), float64(a.box.High[i])
	if !math.IsInf(low, 0) && !math.IsInf(high, 0) {
		if a.bounds == Squash {
			e := portable.Exp(-2 * math.Abs(u))
			u = math.Copysign((1-e)/(1+e), u)
		}
		u = (low+high)/2 + float64(u*((high-low)/2))
	}
	if a.box.Integer != nil && a.box.Integer[i] {
		u = math.Round(u)
	}
	return min(max(float32(u), a.box.Low[i]), a.box.High[i])
}

func (a *gaussian) sample(g int, out []float64, stored []float32, _ []bool) (logp, entropy float64) {
	for i, mu := range out {
		ln := a.logStd[g][i]
		a.z[i] = (float64(stored[i]) - mu) / portable.Exp(ln)
		logp -= float64(a.z[i]*a.z[i]/2) + ln + halfLog2Pi
		entropy += ln + halfLog2Pi + 0.5
	}
	return logp, entropy
}

func (a *gaussian) gradient(g int, dst []float64, slope, bonus float64) {
	for i, z := range a.z {
		dst[i] = -float64(slope * z / portable.Exp(a.logStd[g][i]))
		a.grad[g][i] -= float64(slope*(float64(z*z)-1)) + bonus
	}
}

// std is the mean deviation.
func (a *gaussian) std() float64 {
	sum, n := 0.0, 0
	for _, group := range a.logStd {
		for _, x := range group {
			sum, n = sum+portable.Exp(x), n+1
		}
	}
	return sum / float64(n)
}
