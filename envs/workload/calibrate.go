package workload

import (
	"slices"

	"github.com/stoker-rl/stoker/rng"
)

// calibratedProcess draws invocations that resemble a trace's. The rate of a stream is its profile over the day times a
// random multiplier. The multiplier has the distribution of the trace's counts divided by the profile, and the same
// correlation from one minute to the next.
//
// The multiplier is a discrete autoregression of order one (Jacobs and Lewis, 1978): with probability rho a minute
// keeps the multiplier of the minute before, else it draws a new one. The marginal distribution is then exactly the
// fitted one, and the autocorrelation is rho^lag. A minute needs only its own draws and those of earlier minutes, back
// to the last one that drew a new multiplier.
type calibratedProcess struct {
	fits      []fit
	length    int
	factor    float64
	placement string
}

// fit holds the parameters fitted to one stream's counts.
type fit struct {
	profile    []float64 // smoothed mean invocations in each minute of the period
	multiplier []float64 // equally likely values, sorted
	mean       float64   // of the multipliers
	rho        float64   // probability that a minute keeps the multiplier of the minute before
}

// day is the period of a profile in minutes. A shorter trace has its own length as period.
const day = 1440

// calibrate fits each function of a trace. Profiles are averaged over a window of smooth minutes.
func calibrate(t *Trace, smooth, length int, factor float64, placement string) *calibratedProcess {
	p := &calibratedProcess{length: length, factor: factor, placement: placement}
	for i := range t.Functions {
		p.fits = append(p.fits, fitCounts(t.Functions[i].Counts, smooth))
	}
	return p
}

// fitCounts fits one stream. A single spike must not enter the profile: the profile would repeat it every day, and the
// multiplier would not show it. Hence counts above the 99th percentile of the busy minutes are lowered to that
// percentile, and the window grows until it is expected to hold enoughBusy minutes with invocations.
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
				at = (q%period + period) % period // the profile is periodic
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

// scaleTo scales multipliers to a mean, so that the mean of the drawn counts is that of the trace although each
// multiplier is drawn for other minutes than its own.
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

// stretch scales the multipliers' upper tail, the part beyond their 99th percentile, until their mean square gives the
// trace's dispersion. Their mean stays the same. This is needed where peaks are close to each other: they raise the
// profile, so that the multipliers there are too small. A dispersion close to that of a Poisson process comes from
// rounding and is not changed.
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

// enoughBusy is the number of busy minutes from which a rate can be estimated.
const enoughBusy = 30

// maxRho bounds rho, and maxBack bounds how many earlier minutes the draw of a minute reads: 0.99^1000 is under 5e-5.
const (
	maxRho  = 0.99
	maxBack = 1000
)

// lag1 returns the correlation of each value with the next one.
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

func (p *calibratedProcess) streams() int { return len(p.fits) }
func (p *calibratedProcess) minutes() int { return p.length }

func (p *calibratedProcess) expected(stream, minute int) float64 {
	f := &p.fits[stream]
	return p.factor * f.profile[minute%len(f.profile)] * f.mean
}

func (p *calibratedProcess) draw(dst []int32, k rng.Key, stream, minute int, scale float64) []int32 {
	f := &p.fits[stream]
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
	return place(dst, k, round(float64(float64(p.factor*rate*multiplier)*scale), k), p.placement)
}
