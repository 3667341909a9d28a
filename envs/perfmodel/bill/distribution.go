package bill

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Distribution is the law of a run's time in seconds.
type Distribution interface {
	// Mean returns the expectation, Above the probability that a time is greater than s.
	Mean() float64
	Above(s float64) float64
}

// Always is a time that does not vary.
type Always float64

// Mean implements [Distribution].
func (a Always) Mean() float64 { return float64(a) }

// Above implements [Distribution].
func (a Always) Above(s float64) float64 {
	if float64(a) > s*(1+1e-12) {
		return 1
	}
	return 0
}

// Runs are measured times in seconds, ascending: each is as likely as any other.
type Runs []float64

// NewRuns sorts a copy of times. A time that is not positive and finite is an error, and so is none.
func NewRuns(times []float64) (Runs, error) {
	if len(times) == 0 {
		return nil, fmt.Errorf("bill: no times")
	}
	for i, t := range times {
		if !(t > 0) || math.IsInf(t, 0) {
			return nil, fmt.Errorf("bill: time %d is %g s, want a positive number", i, t)
		}
	}
	out := slices.Clone(times)
	slices.Sort(out)
	return out, nil
}

// Mean implements [Distribution].
func (r Runs) Mean() float64 {
	var sum float64
	for _, t := range r {
		sum += t
	}
	return sum / float64(len(r))
}

// Above implements [Distribution].
func (r Runs) Above(s float64) float64 {
	i, _ := slices.BinarySearchFunc(r, s, func(a, b float64) int {
		if a <= b {
			return -1
		}
		return 1
	})
	return float64(len(r)-i) / float64(len(r))
}

// Steps returns the mean number of steps, each time rounded up.
func (r Runs) Steps(step float64) float64 {
	t := Tariff{Step: step}
	var sum float64
	for _, x := range r {
		sum += t.steps(x)
	}
	return sum / float64(len(r))
}

// Lognormal is a time with a mean in seconds and a coefficient of variation.
type Lognormal struct{ M, CV float64 }

// Mean implements [Distribution].
func (l Lognormal) Mean() float64 { return l.M }

// Above implements [Distribution].
func (l Lognormal) Above(s float64) float64 {
	if l.CV == 0 {
		return Always(l.M).Above(s)
	}
	if s <= 0 {
		return 1
	}
	return l.logarithm().Survival(math.Log(s))
}

// logarithm is the law of the time's logarithm.
func (l Lognormal) logarithm() distuv.Normal {
	v := math.Log1p(float64(l.CV * l.CV))
	return distuv.Normal{Mu: math.Log(l.M) - float64(v/2), Sigma: math.Sqrt(v)}
}

// Steps returns the mean number of steps, each time rounded up: the sum of the probabilities of all steps. For times of
// more than 10⁶ steps that vary by 8 or more, rounding up adds half a step; so it does to the part of a time beyond the
// first 2²⁰ steps.
func (l Lognormal) Steps(step float64) float64 {
	n, sd := l.M/step, float64(l.CV*l.M)/step
	if sd >= 8 && n >= 1e6 {
		return n + 0.5
	}
	if l.CV == 0 {
		return Tariff{Step: step}.steps(l.M)
	}
	// Below nine deviations of the logarithm every time is above.
	v := math.Log1p(float64(l.CV * l.CV))
	sum := math.Floor(n * math.Exp(-float64(v/2)-float64(9*math.Sqrt(v))))
	law := l.logarithm()
	for k, most := sum, sum+1<<20; ; k++ {
		p := float64(law.Survival(math.Log(k * step))) // 1 for k = 0
		if k == most {
			more := distuv.Normal{Mu: law.Mu + v, Sigma: law.Sigma} // the law weighted by the time
			return sum + float64(n*float64(more.Survival(math.Log(k*step)))) - float64(k*p) + float64(p/2)
		}
		sum += p
		if p < 1e-13 {
			return sum
		}
	}
}

// Invertible is a law of a run's time from which runs can be drawn: Quantile(u) of an even draw u.
type Invertible interface {
	Distribution
	// Quantile returns the time that a share p of the runs does not exceed, 0 ≤ p ≤ 1.
	Quantile(p float64) float64
}

// Quantile implements [Invertible].
func (a Always) Quantile(float64) float64 { return float64(a) }

// Quantile implements [Invertible].
func (r Runs) Quantile(p float64) float64 {
	return r[min(len(r)-1, max(0, int(math.Ceil(p*float64(len(r))))-1))]
}

// Quantile implements [Invertible]. It is +Inf for p = 1 unless CV is 0.
func (l Lognormal) Quantile(p float64) float64 {
	if l.CV == 0 {
		return l.M
	}
	v := math.Log1p(float64(l.CV * l.CV))
	z := math.Sqrt2 * math.Erfinv(float64(2*p)-1)
	return math.Exp(math.Log(l.M) - float64(v/2) + float64(math.Sqrt(v)*z))
}

// Quantiles are times in seconds at ascending probabilities from 0 to 1: what is left of measurements of which only
// quantiles were published. Between two of them lies a share u of the way at Bend-th power, (u)^Bend: straight lines
// for Bend 1, also for 0.
type Quantiles struct {
	P, Seconds []float64
	Bend       float64
}

// Validate reports the first entry that is not ascending.
func (q Quantiles) Validate() error {
	n := len(q.P)
	if n < 2 || len(q.Seconds) != n || q.P[0] != 0 || q.P[n-1] != 1 {
		return fmt.Errorf("bill: %d probabilities and %d times, want as many of both, from probability 0 to 1", n,
			len(q.Seconds))
	}
	for i := 1; i < n; i++ {
		if !(q.P[i] > q.P[i-1]) || !(q.Seconds[i] >= q.Seconds[i-1]) {
			return fmt.Errorf("bill: quantile %d (probability %g: %g s) is not above the one before (%g: %g s)", i, q.P[i],
				q.Seconds[i], q.P[i-1], q.Seconds[i-1])
		}
	}
	if !(q.Bend >= 0) || math.IsInf(q.Bend, 0) {
		return fmt.Errorf("bill: bend is %g, want a number from 0", q.Bend)
	}
	return nil
}

// WithMean returns the quantiles with the Bend that makes the mean the given one, where that was published too: long
// tails lie far below the straight line from the last quantile but one to the greatest time. It fails where the
// quantiles exclude the mean.
func (q Quantiles) WithMean(mean float64) (Quantiles, error) {
	var low, width float64
	for i := 1; i < len(q.P); i++ {
		low += float64((q.P[i] - q.P[i-1]) * q.Seconds[i-1])
		width += float64((q.P[i] - q.P[i-1]) * (q.Seconds[i] - q.Seconds[i-1]))
	}
	if !(mean > low && mean < low+width) {
		return q, fmt.Errorf("bill: a mean of %g s does not agree with the quantiles, which allow %g to %g s", mean, low, low+width)
	}
	q.Bend = width/(mean-low) - 1
	return q, nil
}

func (q Quantiles) bend() float64 {
	if q.Bend == 0 {
		return 1
	}
	return q.Bend
}

// Mean implements [Distribution].
func (q Quantiles) Mean() float64 {
	var sum float64
	part := 1 / (q.bend() + 1)
	for i := 1; i < len(q.P); i++ {
		sum += float64((q.P[i] - q.P[i-1]) * (q.Seconds[i-1] + float64(part*(q.Seconds[i]-q.Seconds[i-1]))))
	}
	return sum
}

// Above implements [Distribution].
func (q Quantiles) Above(s float64) float64 {
	i, _ := slices.BinarySearch(q.Seconds, s)
	// The last of equal times.
	for i < len(q.Seconds) && q.Seconds[i] == s {
		i++
	}
	switch i {
	case 0:
		return 1
	case len(q.Seconds):
		return 0
	}
	a, b := q.Seconds[i-1], q.Seconds[i]
	part := (s - a) / (b - a)
	if k := q.bend(); k != 1 {
		part = math.Pow(part, 1/k)
	}
	return 1 - (q.P[i-1] + float64((q.P[i]-q.P[i-1])*part))
}

// Quantile implements [Invertible].
func (q Quantiles) Quantile(p float64) float64 {
	i, found := slices.BinarySearch(q.P, p)
	switch {
	case found:
		return q.Seconds[i]
	case i == 0:
		return q.Seconds[0]
	case i == len(q.P):
		return q.Seconds[i-1]
	}
	part := (p - q.P[i-1]) / (q.P[i] - q.P[i-1])
	if k := q.bend(); k != 1 {
		part = math.Pow(part, k)
	}
	return q.Seconds[i-1] + float64(part*(q.Seconds[i]-q.Seconds[i-1]))
}
