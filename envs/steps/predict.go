package steps

import (
	"math"

	"github.com/stoker-rl/stoker/rng/portable"
)

// A step ends with the last of its instances. Their times are independent, so the probability that it has ended by t is
// the product over the instances of the probability that each has. Instance i begins its cold start (i+1)·StartEvery
// after the step's begin, and what follows is lognormal. The logarithm of the product is a sum along the stairs, which is
// taken with five nodes a stretch; the quantile is where it reaches that of the level. Instances beyond
// [Platform.Together] begin where the ones before them end on average.

// stretch is some instances in a row whose times are alike: instance i of n ends at + slope·i + X, where ln X is
// normal.
type stretch struct {
	n, at, slope float64
	mu, sigma    float64
}

// forecast is the law of a step's time.
type forecast struct {
	stretches [maxStretches]stretch
	n         int
	delay     float64 // mean of the delay that all instances share, of the formula
}

// maxStretches is the most that a step has: of the last two waves those with and without a warm start, with and without a
// task more.
const maxStretches = 8

// forecast returns the law of a step's time with so many warm instances.
func (p *Platform) forecast(t *times, warm int) forecast {
	var f forecast
	var run [2]spread
	for class := range run {
		run[class] = p.run(t, class)
	}
	cold := spread{p.ColdStart, p.ColdCV}
	if p.Formula {
		f.delay, cold = Mapping(t.instances, warm), spread{}
		warm = t.instances
	}
	warm = min(warm, t.instances)
	wave := t.instances
	if p.Together > 0 {
		wave = min(wave, p.Together)
	}
	last := (t.instances - 1) / wave
	for i := max(0, last-1) * wave; i < t.instances; {
		class, k, in := 0, i/wave, i%wave
		end := min(t.instances, (k+1)*wave)
		if i < t.more {
			end = min(end, t.more)
		} else {
			class = 1
		}
		s := stretch{at: float64(float64(k) * run[0].mean)}
		x := run[class]
		if in < warm {
			end = min(end, i-in+warm)
		} else {
			s.at += float64(p.StartEvery * float64(in-warm+1))
			s.slope = p.StartEvery
			if p.Formula {
				s.at, s.slope = float64(float64(k)*run[0].mean), 0
			}
			if k == 0 {
				x = x.plus(cold)
			} else {
				s.at += cold.mean
			}
		}
		s.n = float64(end - i)
		s.mu, s.sigma = x.logarithm()
		f.stretches[f.n] = s
		f.n++
		i = end
	}
	return f
}

// Nodes and weights of Gauss and Legendre on [0, 1].
var (
	nodes5   = [5]float64{0.04691007703066802, 0.23076534494715845, 0.5, 0.7692346550528415, 0.953089922969332}
	weights5 = [5]float64{0.11846344252809454, 0.23931433524968324, 0.28444444444444444, 0.23931433524968324,
		0.11846344252809454}
)

// ended returns the logarithm of the probability that all instances have ended by t, the shared delay left out.
func (f *forecast) ended(t float64) float64 {
	var sum float64
	for k := range f.n {
		s := &f.stretches[k]
		if s.slope == 0 || s.n == 1 {
			sum += float64(s.n * s.below(t-s.at))
			continue
		}
		for j, x := range nodes5 {
			sum += float64(float64(weights5[j]*s.n) * s.below(t-s.at-float64(s.slope*(float64(x*s.n)-0.5))))
		}
	}
	return sum
}

// below is the logarithm of the probability that an instance takes at most t.
func (s *stretch) below(t float64) float64 {
	switch {
	case t <= 0:
		return never
	case s.sigma == 0:
		if portable.Log(t) >= s.mu-1e-12 {
			return 0
		}
		return never
	}
	return logNormal((portable.Log(t) - s.mu) / s.sigma)
}

// with is [forecast.ended] with the shared delay.
func (f *forecast) with(t float64) float64 {
	if f.delay == 0 {
		return f.ended(t)
	}
	var sum float64
	for j, x := range nodes5 {
		d := float64(f.delay * portable.Exp(float64(mappingSigma*portable.NormQuantile(x))))
		sum += float64(weights5[j] * portable.Exp(f.ended(t-d)))
	}
	return max(never, portable.Log(max(sum, 1e-300)))
}

// quantile returns the time that the step does not exceed with a probability.
func (f *forecast) quantile(level float64) float64 {
	want := portable.Log(level)
	var n, low, high float64
	for k := range f.n {
		n += f.stretches[k].n
	}
	z, zn := portable.NormQuantile(level), portable.NormQuantile(portable.Exp(want/n))
	for k := range f.n {
		s := &f.stretches[k]
		low = max(low, s.at+float64(s.slope*(s.n-1))+portable.Exp(s.mu+float64(s.sigma*z)))
		high = max(high, s.at+float64(s.slope*s.n)+portable.Exp(s.mu+float64(s.sigma*zn)))
	}
	if f.delay > 0 {
		low += float64(f.delay * portable.Exp(-3*mappingSigma))
		high += float64(f.delay * portable.Exp(3*mappingSigma))
	}
	return f.solve(want, low, high)
}

// solve finds where the logarithm of the probability reaches a value, by false position (Illinois).
func (f *forecast) solve(want, low, high float64) float64 {
	below, above := f.with(low)-want, f.with(high)-want
	if below >= 0 {
		return low
	}
	for range 60 {
		if high-low <= 1e-7*high || above <= 1e-9 {
			break
		}
		t := high - float64(above*(high-low))/(above-below)
		if below < -20*above || !(t > low && t < high) {
			t = (low + high) / 2
		}
		switch y := f.with(t) - want; {
		case math.Abs(y) < 1e-7:
			return t
		case y > 0:
			high, above, below = t, y, below/2
		default:
			low, below, above = t, y, above/2
		}
	}
	return high
}

// mean returns the mean of the step's time, by five of its quantiles, of which the middle one is the median.
func (f *forecast) mean() (mean, median float64) {
	for j, x := range nodes5 {
		q := f.quantile(x)
		mean += float64(weights5[j] * q)
		if j == 2 {
			median = q
		}
	}
	return mean, median
}
