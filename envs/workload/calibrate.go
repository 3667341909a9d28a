package workload

import (
	"slices"

	"github.com/stoker-rl/stoker/rng"
)

// calibratedLaw draws invocations like a trace's: per stream, a rate profile over the day times a multiplier that has
// the law of the trace's own invocations relative to the profile, and lasts from minute to minute as they do.
//
// The multiplier is a discrete autoregression of order one (Jacobs and Lewis, 1978): with probability rho a minute
// keeps the multiplier of the minute before, else it draws its own. Its law is then exactly the one fitted, its
// autocorrelation rho^lag, and a minute is found from draws keyed by the minutes before it alone, back to the last that
// drew its own.
type calibratedLaw struct {
	fits      []fit
	length    int
	factor    float64
	placement string
}

// fit is what one stream's counts gave.
type fit struct {
	profile    []float64 // mean invocations by minute of the period, smoothed
	multiplier []float64 // sorted: equally likely multipliers
	mean       float64   // of the multipliers
	rho        float64
}

// day is the period of a profile where the trace is that long.
const day = 1440

// calibrate fits each function of a trace, its profile averaged over a window of smooth minutes.
func calibrate(t *Trace, smooth, length int, factor float64, placement string) *calibratedLaw {
	l := &calibratedLaw{length: length, factor: factor, placement: placement}
	for i := range t.Functions {
		l.fits = append(l.fits, fitCounts(t.Functions[i].Counts, smooth))
	}
	return l
}

// fitCounts fits one stream. Two things keep single spikes out of the profile, which would otherwise repeat them every
// day and hide them from the multiplier: counts above the 99th percentile of the busy minutes are lowered to it, and
// the window grows until it may expect enoughBusy minutes with invocations.
func fitCounts(counts []uint32, smooth int) fit {
	period := min(len(counts), day)
	f := fit{profile: make([]float64, period)}
	busy := make([]uint32, 0, len(counts))
	for _, c := range counts {
		if c > 0 {
			busy = append(busy, c)
		}
	}
	if len(busy) == 0 {
		return f
	}
	slices.Sort(busy)
	highest := busy[(len(busy)-1)*99/100]
	smooth = min(max(smooth, enoughBusy*len(counts)/len(busy)), period)

	mean := make([]float64, period)
	for p := range mean {
		days := 0
		for m := p; m < len(counts); m += period {
			mean[p] += float64(min(counts[m], highest))
			days++
		}
		mean[p] /= float64(days)
	}
	for p := range f.profile {
		n := 0
		for q := p - smooth/2; q < p-smooth/2+smooth; q++ {
			at := q
			if period == day || smooth == period {
				at = (q%period + period) % period // the day comes round
			}
			if at >= 0 && at < period {
				f.profile[p] += mean[at]
				n++
			}
		}
		f.profile[p] /= float64(n)
	}
	ratios := make([]float64, 0, len(counts))
	var expected, squares, total float64
	for m, c := range counts {
		if e := f.profile[m%period]; e > 0 {
			ratios = append(ratios, float64(c)/e)
			expected += e
			squares += float64(e * e)
			total += float64(c)
		}
	}
	f.rho = min(max(lag1(ratios), 0), maxRho)
	n := float64(len(ratios))
	f.mean = total / expected
	scaleTo(ratios, f.mean)
	slices.Sort(ratios)
	f.multiplier = ratios
	var square float64
	for _, c := range counts {
		square += float64(float64(c) * float64(c))
	}
	stretch(ratios, f.mean, square/squares, squares/n, expected/n)
	return f
}

// scaleTo scales multipliers to a mean. They are paired with other minutes than their own; scaled, their mean times the
// profile's is the trace's.
func scaleTo(x []float64, mean float64) {
	var sum float64
	for _, v := range x {
		sum += v
	}
	scale := mean * float64(len(x)) / sum
	for i := range x {
		x[i] *= scale
	}
}

// stretch lengthens the multipliers' upper tail, the part beyond their 99th percentile, until their mean square is the
// one that gives the trace's dispersion, and keeps their mean. Where peaks crowd the profile has risen too and taken
// some of their height: this gives it back. A dispersion that is nearly Poisson's comes from rounding and is left
// alone.
func stretch(x []float64, mean, square, profileSquare, profileMean float64) {
	variance := float64(square*profileSquare) - float64(mean*profileMean*mean*profileMean)
	if variance < 2*mean*profileMean {
		return
	}
	from := x[(len(x)-1)*99/100]
	with := func(g float64, out []float64) float64 {
		var sum, sq float64
		for i, v := range x {
			if v > from {
				v += float64(g * (v - from))
			}
			if out != nil {
				out[i] = v
			}
			sum += v
			sq += float64(v * v)
		}
		n := float64(len(x))
		return sq / n * (mean * n / sum) * (mean * n / sum)
	}
	lo, hi := -1.0, 100.0
	for range 60 {
		if g := (lo + hi) / 2; with(g, nil) < square {
			lo = g
		} else {
			hi = g
		}
	}
	with(lo, x)
	scaleTo(x, mean)
}

// enoughBusy is how many busy minutes tell a rate.
const enoughBusy = 30

// maxRho and maxBack bound how long a multiplier lasts and so how far a minute looks back: 0.99^1000 is under 5e-5.
const (
	maxRho  = 0.99
	maxBack = 1000
)

// lag1 returns the correlation of neighbours.
func lag1(x []float64) float64 {
	var mean, variance, next float64
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	for i, v := range x {
		variance += float64((v - mean) * (v - mean))
		if i > 0 {
			next += float64((v - mean) * (x[i-1] - mean))
		}
	}
	if variance == 0 {
		return 0
	}
	return next / variance
}

func (l *calibratedLaw) streams() int { return len(l.fits) }
func (l *calibratedLaw) minutes() int { return l.length }

func (l *calibratedLaw) expected(stream, minute int) float64 {
	f := &l.fits[stream]
	return l.factor * f.profile[minute%len(f.profile)] * f.mean
}

func (l *calibratedLaw) draw(dst []int32, k rng.Key, stream, minute int) []int32 {
	f := &l.fits[stream]
	rate := f.profile[minute%len(f.profile)]
	if rate == 0 || len(f.multiplier) == 0 {
		return dst
	}
	k = k.With(uint64(stream))
	renewals := k.With(1 << 40)
	last := minute
	for back := 0; back < maxBack && renewals.With(uint64(int64(last))).Float64() < f.rho; back++ {
		last--
	}
	multiplier := f.multiplier[k.With(1<<40+1).With(uint64(int64(last))).IntN(len(f.multiplier))]
	k = k.With(uint64(minute))
	return place(dst, k, round(float64(l.factor*rate*multiplier), k), l.placement)
}
