package steps

import (
	"math"

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

// objects is how many objects each of some instances moves.
func (t *Transfer) objects(instances int) int { return (t.Objects + instances - 1) / instances }

// transfer is the time that an instance takes to move its share.
func (s *Storage) transfer(t *Transfer, instances int) spread {
	n := t.objects(instances)
	if n == 0 {
		return spread{}
	}
	mean := float64(s.Latency*float64((n+s.Parallel-1)/s.Parallel)) + float64(float64(n)*t.MB)/s.Bandwidth
	return spread{mean, math.Sqrt(float64(s.CommonCV*s.CommonCV) + float64(s.ObjectCV*s.ObjectCV)/float64(n))}
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
