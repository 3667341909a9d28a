package perfmodel

import "math"

// Setting is what was measured of a function under one CPU limit and one load.
type Setting struct {
	// CPU is an instance's limit in millicores.
	CPU float64
	// Inside is the number of requests in an instance, the measured ones included. Where Held it was the same all the
	// while, at least 1. Otherwise requests came by themselves, Inside is the mean over time (by Little's law the rate of
	// the requests served times their mean time), and an instance takes Limit at once.
	Inside float64
	Held   bool
	Limit  int
	// Seconds is the mean time of a request in the instance, SD the standard deviation (0 where it is not known), and Rows
	// the number of rows or requests that they were taken from.
	Seconds, SD float64
	Rows        int
}

// others is about how many further requests a request meets.
func (s *Setting) others() float64 {
	if s.Held {
		return s.Inside - 1
	}
	return s.Inside
}

// Predict returns the mean time in seconds that the law gives a request under a setting. Requests that come by
// themselves are a Poisson process, and an instance refuses those beyond its limit. Then the number inside is a birth and
// death process whatever the law of the work (Cohen, The multiple phase service network with generalized processor
// sharing, 1979). Its rate is the one with the setting's mean number inside, and the time follows by Little's law.
func (l *Law) Predict(s *Setting) float64 {
	if s.Held {
		return l.Seconds(s.CPU, s.Inside)
	}
	limit := max(1, s.Limit)
	if s.Inside > 0.999*float64(limit) {
		return l.Seconds(s.CPU, float64(limit))
	}
	c := chain{alone: l.Alone(s.CPU), together: l.Together(s.CPU), slowing: l.Slowing(s.CPU), limit: limit}
	// x is the logarithm of the rate; the derivative of the mean by it is the variance.
	x, low, high := math.Log(s.Inside/l.Seconds(s.CPU, 1+s.Inside)), math.Inf(-1), math.Inf(1)
	for range 60 {
		mean, variance, taken := c.at(math.Exp(x))
		if math.Abs(mean-s.Inside) <= 1e-10*s.Inside {
			return mean / (math.Exp(x) * taken)
		}
		if mean < s.Inside {
			low = x
		} else {
			high = x
		}
		next := x + min(max((s.Inside-mean)/variance, -2), 2)
		if next <= low || next >= high {
			next = (low + high) / 2
		}
		x = next
	}
	_, _, taken := c.at(math.Exp(x))
	return s.Inside / (math.Exp(x) * taken)
}

// chain is the number of requests in an instance that takes limit at once.
type chain struct {
	alone, together, slowing float64
	limit                    int
}

// at returns mean and variance of the number inside, and the share of requests that are not refused, where rate requests
// a second come.
func (c *chain) at(rate float64) (mean, variance, taken float64) {
	p, sum, first, second := 1.0, 1.0, 0.0, 0.0
	for n := 1; n <= c.limit; n++ {
		k := float64(n)
		p = float64(p * rate * c.alone * max(1, k/c.together) * (1 + float64(c.slowing*(k-1))) / k)
		sum += p
		first += float64(k * p)
		second += float64(k * k * p)
		if sum > 1e200 {
			p, sum, first, second = p/sum, 1, first/sum, second/sum
		}
	}
	mean = first / sum
	return mean, second/sum - float64(mean*mean), 1 - p/sum
}
