package steps

import (
	"math"

	"github.com/stoker-rl/stoker/internal/heap"
	"github.com/stoker-rl/stoker/rng/portable"
)

// A configuration is what is chosen for a step: θ = (m, p, q).
type configuration struct{ mb, instances, processes int }

// spread is a lognormal time by its mean and its coefficient of variation.
type spread struct{ mean, cv float64 }

// logarithm returns mean and deviation of the time's logarithm.
func (s spread) logarithm() (mu, sigma float64) {
	v := portable.Log1p(float64(s.cv * s.cv))
	return portable.Log(s.mean) - float64(v/2), math.Sqrt(v)
}

// cumulants are mean, variance and third central moment of a time: those of independent times add up.
type cumulants struct{ mean, variance, third float64 }

// cumulants returns those of the lognormal time.
func (s spread) cumulants() cumulants {
	v := float64(s.cv * s.cv)
	sd := s.mean * s.cv
	return cumulants{s.mean, float64(sd * sd), float64(float64(float64(sd*sd)*sd) * float64(s.cv*(3+v)))}
}

func (c cumulants) plus(d cumulants) cumulants {
	return cumulants{c.mean + d.mean, c.variance + d.variance, c.third + d.third}
}

// lognormal returns the shifted lognormal law with these moments: the time is shift + X, where ln X is normal with mean
// mu and deviation sigma.
func (c cumulants) lognormal() (shift, mu, sigma float64) {
	if c.variance <= 0 || c.third <= 0 {
		return c.mean, math.Inf(-1), 0
	}
	sd := math.Sqrt(c.variance)
	g := max(c.third/float64(c.variance*sd), 1e-5) // below, it is normal
	// With w = exp(σ²) the skewness is (w + 2)·√(w − 1), a cubic equation.
	t := portable.Pow(1+float64(g*g/2)+float64(g*math.Sqrt(1+float64(g*g/4))), 1.0/3)
	w := t + 1/t - 1
	scale := sd / math.Sqrt(float64(w*(w-1)))
	return c.mean - float64(scale*math.Sqrt(w)), portable.Log(scale), math.Sqrt(portable.Log(w))
}

// compute is the mean time in seconds that an instance computes for some tasks.
func (p *Platform) compute(c *StepConfig, tasks int, mb, processes int) float64 {
	x := float64(mb) / p.SingleCore
	l := &c.Law
	if len(l.Tasks) > 0 {
		seconds := l.measured((tasks + processes - 1) / processes)
		return seconds/min(1, x/float64(processes)) + l.Fixed
	}
	if !c.Multicore {
		return float64(l.A*float64(tasks))/(min(x, float64(processes))+l.B) + l.Fixed
	}
	if l.Cores > 0 {
		x = min(x, l.Cores)
	}
	work := float64(l.A*float64(tasks)) + l.B
	if x < 1 {
		return float64(work*portable.Exp(-l.C))/x + l.Fixed
	}
	return float64(work*portable.Exp(-float64(l.C*x))) + l.Fixed
}

// times is what a step's instances take with a configuration. The first more of them have a task more than the others.
type times struct {
	instances, more  int
	download, upload spread
	compute          [2]float64 // mean, of an instance with a task more and of one without
}

// times returns what the instances of a step take.
func (p *Platform) times(c *StepConfig, o configuration) times {
	t := times{instances: o.instances, more: c.Tasks % o.instances, download: p.Storage.transfer(&c.Download, o.instances),
		upload: p.Storage.transfer(&c.Upload, o.instances)}
	few := c.Tasks / o.instances
	t.compute[1] = p.compute(c, few, o.mb, o.processes)
	t.compute[0] = t.compute[1]
	if t.more > 0 {
		t.compute[0] = p.compute(c, few+1, o.mb, o.processes)
	}
	return t
}

// run is the time that an instance runs: 0 for one with a task more, 1 for one without.
func (p *Platform) run(t *times, class int) cumulants {
	return spread{t.compute[class], p.ComputeCV}.cumulants().plus(t.download.cumulants()).plus(t.upload.cumulants())
}

// meanRun is the mean over the instances of the time that they run.
func (t *times) meanRun() float64 {
	share := float64(t.more) / float64(t.instances)
	return t.download.mean + t.upload.mean + float64(share*t.compute[0]) + float64((1-share)*t.compute[1])
}

// never is the logarithm of a probability of about 0.
const never = -1e3

// The table of the logarithm of the standard normal distribution and of its derivative: straight lines between points
// 1/256 apart, with an error below 2e-6.
const (
	tableFrom = -8.0
	tableStep = 256
	tableSize = 2*8*tableStep + 1
)

var logTable = func() *[tableSize][2]float64 {
	var t [tableSize][2]float64
	for i := range t {
		x := tableFrom + float64(float64(i)/tableStep)
		below := upper(max(x, -x))
		if x < 0 {
			t[i][0] = portable.Log(below)
		} else {
			t[i][0], below = portable.Log1p(-below), 1-below
		}
		t[i][1] = density(x) / below
	}
	return &t
}()

func density(x float64) float64 { return 0.3989422804014327 * portable.Exp(-float64(x*x/2)) }

// upper is the probability that a standard normal number is above x ≥ 0: the continued fraction of Laplace, and the
// series where that is slow.
func upper(x float64) float64 {
	f := density(x)
	if x > 3 {
		d := x
		for k := 60; k > 0; k-- {
			d = x + float64(k)/d
		}
		return f / d
	}
	sum, term := x, x
	for k := 3.0; k < 200; k += 2 {
		term = float64(term * (float64(x*x) / k))
		sum += term
	}
	return 0.5 - float64(f*sum)
}

// logNormal returns the logarithm of the probability that a standard normal number is below z, and its derivative.
func logNormal(z float64) (y, slope float64) {
	at := float64((z - tableFrom) * tableStep)
	if at < 0 {
		return logTable[0][0] - float64((float64(z*z)-64)/2), -z
	}
	i := int(at)
	if i >= tableSize-1 {
		return 0, 0
	}
	a, b, part := &logTable[i], &logTable[i+1], at-float64(i)
	return a[0] + float64(part*(b[0]-a[0])), a[1] + float64(part*(b[1]-a[1]))
}

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
	places []moment
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
			begin = float64(heap.Pop(&places))
			s := stretch{n: 1, at: begin}
			s.follow(run[class])
			f.later = append(f.later, s)
		case i >= warm:
			begin = float64(p.StartEvery*float64(i-warm+1)) + p.ColdStart
		}
		heap.Push(&places, moment(begin+run[class].mean))
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
