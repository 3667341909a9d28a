package gp

import "math"

// normal is the standard normal density and distribution at z.
func normal(z float64) (density, below float64) {
	return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi), math.Erfc(-z/math.Sqrt2) / 2
}

// Expected is the expected improvement E[max(0, f − best)] of a normal f (Jones, Schonlau and Welch, 1998, eq. 15), and
// its derivatives by f's mean and standard deviation. A margin ξ is part of best.
func Expected(mean, sd, best float64) (value, byMean, bySD float64) {
	if sd <= 0 {
		if mean > best {
			return mean - best, 1, 0
		}
		return 0, 0, 0
	}
	density, below := normal((mean - best) / sd)
	return max((mean-best)*below+sd*density, 0), below, density
}

// Feasible is the probability that a normal g is at most 0, and its derivatives by g's mean and standard deviation.
func Feasible(mean, sd float64) (value, byMean, bySD float64) {
	if sd <= 0 {
		if mean <= 0 {
			return 1, 0, 0
		}
		return 0, 0, 0
	}
	density, below := normal(-mean / sd)
	return below, -density / sd, density * mean / (sd * sd)
}

// Normal is a normal law.
type Normal struct{ Mean, SD float64 }

// Pair is one outcome of two objectives.
type Pair [2]float64

// Front returns the pairs that no other pair is at least as large as in both objectives, ascending in the first. Pairs
// that do not exceed the reference in both are left out.
func Front(pairs []Pair, reference Pair) []Pair {
	var out []Pair
	for i, p := range pairs {
		keep := p[0] > reference[0] && p[1] > reference[1]
		for j, o := range pairs {
			if !keep {
				break
			}
			better := o[0] >= p[0] && o[1] >= p[1]
			keep = !better || o == p && j >= i
		}
		if keep {
			out = append(out, p)
		}
	}
	for i := range out { // insertion sort: fronts are short
		for j := i; j > 0 && out[j][0] < out[j-1][0]; j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out
}

// Hypervolume is the expected growth of the area between a front and a reference point when a pair of independent
// normal objectives is added, both to be maximised (Emmerich, Yang, Deutz, Wang and Fonseca, 2016), and its derivatives
// by mean and standard deviation of each: [objective][mean, sd]. The front is as [Front] returns it.
//
// Between two neighbours of the front the first objective gains E[(u − a)⁺] − E[(u − a′)⁺] and the second E[(v − b)⁺],
// where b is the height of the front there; the sum over these strips is exact.
func Hypervolume(front []Pair, reference Pair, u, v Normal) (value float64, by [2][2]float64) {
	low := reference[0]
	for i := 0; i <= len(front); i++ {
		width, dMean, dSD := Expected(u.Mean, u.SD, low)
		height := reference[1]
		if i < len(front) {
			height = front[i][1]
			w, m, s := Expected(u.Mean, u.SD, front[i][0])
			width, dMean, dSD = max(width-w, 0), dMean-m, dSD-s
			low = front[i][0]
		}
		h, hMean, hSD := Expected(v.Mean, v.SD, height)
		value += width * h
		by[0][0] += dMean * h
		by[0][1] += dSD * h
		by[1][0] += width * hMean
		by[1][1] += width * hSD
	}
	return value, by
}
