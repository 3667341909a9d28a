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
	v := math.Log1p(float64(l.CV * l.CV))
	return distuv.Normal{Mu: math.Log(l.M) - float64(v/2), Sigma: math.Sqrt(v)}.Survival(math.Log(s))
}

// Steps returns the mean number of steps, each time rounded up: the sum of the probabilities of all steps. For times of
// more than 10⁶ steps that vary by 8 or more, rounding up adds half a step.
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
	for k := sum; ; k++ {
		p := l.Above(k * step)
		sum += p
		if p < 1e-13 {
			return sum
		}
	}
}
