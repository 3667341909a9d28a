package steps

import (
	"math"

	"github.com/stoker-rl/stoker/rng/portable"
)

// A step ends with the last of its instances. Their times are independent, so the probability that it has ended by t is
// the product over the instances of the probability that each has. Instance i begins its cold start (i+1)·StartEvery
// after the step's begin, and what follows is taken as a shifted
// lognormal time with the three moments of the sum. The logarithm of the product is a sum along the stairs, which is
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
	first  [3]stretch // with and without a warm start, with and without a task more
	n      int        // of first
	later  []stretch  // the instances that wait for a place, one each
	delay  float64    // mean of the delay that all instances share, of the formula
	delays [5]float64 // its quantiles at nodes5
	places heap[moment]
}

// set makes it the law of a step's time with so many warm instances.
func (f *forecast) set(p *Platform, t *times, warm int) {
	f.n, f.later, f.delay = 0, f.later[:0], 0
	run := [2]cumulants{p.run(t, 0), p.run(t, 1)}
	warm = min(warm, t.instances)
	together := t.instances
	switch {
	case p.Formula:
		f.delay, warm = Mapping(t.instances, warm), t.instances
		for j, z := range normal5 {
			f.delays[j] = float64(f.delay * portable.Exp(float64(mappingSigma*z)))
		}
	case p.Together > 0:
		together = min(together, p.Together)
	}
	cold := spread{p.ColdStart, p.ColdCV}.cumulants()
	for i := 0; i < together; f.n++ {
		class, end := 0, together
		if i >= t.more {
			class = 1
		} else {
			end = min(end, t.more)
		}
		f.first[f.n] = stretch{}
		s := &f.first[f.n]
		x := run[class]
		if i < warm {
			end = min(end, warm)
		} else {
			s.at, s.slope = float64(p.StartEvery*float64(i-warm+1)), p.StartEvery
			x = x.plus(cold)
		}
		s.n = float64(end - i)
		s.follow(x)
		i = end
	}
	if together < t.instances {
		f.wait(p, t, run, warm, together)
	}
}

// follow sets the law of what an instance takes.
func (s *stretch) follow(x cumulants) {
	var shift float64
	shift, s.mu, s.sigma = x.lognormal()
	s.at += shift
}

// wait adds the instances that wait for a place: each begins when, on average, one before it ends, and finds it warm.
func (f *forecast) wait(p *Platform, t *times, run [2]cumulants, warm, together int) {
	places := f.places[:0]
	for i := range t.instances {
		class, begin := 1, 0.0
		if i < t.more {
			class = 0
		}
		switch {
		case i >= together:
			begin = float64(places.pop())
			s := stretch{n: 1, at: begin}
			s.follow(run[class])
			f.later = append(f.later, s)
		case i >= warm:
			begin = float64(p.StartEvery*float64(i-warm+1)) + p.ColdStart
		}
		places.push(moment(begin + run[class].mean))
	}
	f.places = places
}

// Nodes and weights of Gauss and Legendre on [0, 1].
var (
	nodes5   = [5]float64{0.04691007703066802, 0.23076534494715845, 0.5, 0.7692346550528415, 0.953089922969332}
	weights5 = [5]float64{0.11846344252809454, 0.23931433524968324, 0.28444444444444444, 0.23931433524968324,
		0.11846344252809454}
	normal5 = [5]float64{-1.6755817087951441, -0.7363286906928516, 0, 0.7363286906928516, 1.6755817087951441} // at nodes5
)

// ended returns the logarithm of the probability that all instances have ended by t, the shared delay left out, and its
// derivative.
func (f *forecast) ended(t float64) (sum, slope float64) {
	for k := range f.n {
		s := &f.first[k]
		if s.sigma == 0 { // the last one decides
			y, _ := s.below(t - s.at - float64(s.slope*(s.n-1)))
			sum += y
			continue
		}
		if s.slope == 0 || s.n == 1 {
			y, dy := s.below(t - s.at)
			sum, slope = sum+float64(s.n*y), slope+float64(s.n*dy)
			continue
		}
		for j, x := range nodes5 {
			y, dy := s.below(t - s.at - float64(s.slope*(float64(x*s.n)-0.5)))
			w := weights5[j] * s.n
			sum, slope = sum+float64(w*y), slope+float64(w*dy)
		}
	}
	for k := range f.later {
		y, dy := f.later[k].below(t - f.later[k].at)
		sum, slope = sum+y, slope+dy
	}
	return sum, slope
}

// below is the logarithm of the probability that an instance takes at most t, and its derivative.
func (s *stretch) below(t float64) (y, slope float64) {
	switch {
	case s.sigma == 0:
		if t >= -1e-9 {
			return 0, 0
		}
		return never, 0
	case t <= 0:
		return never, 0
	}
	y, slope = logNormal((portable.Log(t) - s.mu) / s.sigma)
	return y, slope / float64(s.sigma*t)
}

// above is what an instance takes beyond at, z deviations from the middle.
func (s *stretch) above(z float64) float64 {
	if s.sigma == 0 {
		return 0
	}
	return portable.Exp(s.mu + float64(s.sigma*z))
}

// with is [forecast.ended] with the shared delay.
func (f *forecast) with(t float64) (y, slope float64) {
	if f.delay == 0 {
		return f.ended(t)
	}
	var sum float64
	for j, d := range f.delays {
		y, dy := f.ended(t - d)
		p := float64(weights5[j] * portable.Exp(y))
		sum, slope = sum+p, slope+float64(p*dy)
	}
	if sum < 1e-300 {
		return never, 0
	}
	return portable.Log(sum), slope / sum
}

// quantile returns the time that the step does not exceed with a probability.
func (f *forecast) quantile(level float64) float64 {
	return f.find(portable.Log(level), portable.NormQuantile(level))
}

// find returns the quantile at a level, by its logarithm and by its number of deviations from the middle.
func (f *forecast) find(want, z float64) float64 {
	// No instance may exceed the quantile more often than the step does.
	var low float64
	for k := range f.n {
		s := &f.first[k]
		low = max(low, s.at+float64(s.slope*(s.n-1))+s.above(z))
	}
	for k := range f.later {
		low = max(low, f.later[k].at+f.later[k].above(z))
	}
	if f.delay > 0 {
		low += f.delays[0]
	}
	return f.climb(want, low)
}

// climb finds where the logarithm of the probability reaches a value, from a time below, by Newton's method: it comes
// from below, since the logarithm is concave; where the shared delay makes it not quite so, steps back are bounded.
func (f *forecast) climb(want, t float64) float64 {
	low, high := t, math.Inf(1)
	for i := range 40 {
		y, slope := f.with(t)
		y -= want
		switch {
		case math.Abs(y) < 1e-6 || y > 0 && i == 0:
			return t
		case y > 0:
			high = min(high, t)
		default:
			low = max(low, t)
		}
		next := t - y/slope
		switch {
		case slope <= 0 && math.IsInf(high, 1):
			next = float64(1.1*t) + 1e-3
		case slope <= 0 || next <= low || next >= high:
			next = (low + min(high, 2*t)) / 2
		}
		if math.Abs(next-t) <= 1e-7*t {
			return next
		}
		t = next
	}
	return t
}

// mean returns the mean of the step's time and its median: the mean of the quantiles over a standard normal number, by
// three nodes of Gauss and Hermite.
func (f *forecast) mean() (mean, median float64) {
	const node, tail = 1.7320508075688772, -3.1788799715460248 // the latter is ln Φ(−√3)
	median = f.find(-0.6931471805599453, 0)
	low, high := f.find(tail, -node), f.find(-0.04252371071388969, node)
	return (float64(4*median) + low + high) / 6, median
}
