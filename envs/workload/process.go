package workload

import (
	"math"
	"slices"

	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// process is an arrival process: it gives the number of arrivals of each stream in each minute and their times within
// the minute. It never changes, so several iterators share one.
type process interface {
	streams() int
	minutes() int
	// expected returns the mean number of arrivals of a stream in a minute of the workload.
	expected(stream, minute int) float64
	// draw appends the times of the stream's arrivals at scale times the rate, in microseconds within the minute; arrival
	// k is the k-th. It is a function of the key, the stream, the minute and the scale alone. The key is the source's: a
	// process must derive its keys from the stream first.
	draw(dst []int32, k rng.Key, stream, minute int, scale float64) []int32
}

// Placements, as [Config.Placement] names them.
const (
	Exponential = "exponential"
	Uniform     = "uniform"
	Even        = "even"
)

// place appends the times of n arrivals of a minute. k is the key of the stream and minute.
func place(dst []int32, k rng.Key, n int, placement string) []int32 {
	switch placement {
	case Uniform:
		for i := range n {
			lo, hi := part(i, n), part(i+1, n)
			at := lo
			if hi > lo {
				at += int64(k.With(uint64(i)).IntN(int(hi - lo)))
			}
			dst = append(dst, int32(at))
		}
	case Even:
		if n == 0 {
			return dst
		}
		phase := int64(k.With(0).IntN(int(max(part(1, n), 1))))
		for i := range n {
			dst = append(dst, int32(min(part(i, n)+phase, Minute-1)))
		}
	default: // given their number, the arrivals of a Poisson process are independent and uniform
		for i := range n {
			dst = append(dst, int32(k.With(uint64(i)).IntN(int(Minute))))
		}
	}
	return dst
}

// part returns where the i-th of n equal parts of a minute begins.
func part(i, n int) int64 { return int64(i) * Minute / int64(n) }

// round returns x rounded down or up at random, such that the mean over keys is x.
func round(x float64, k rng.Key) int {
	n := math.Floor(x)
	if k.Float64() < x-n {
		n++
	}
	return int(n)
}

// traceProcess draws the trace's invocations per minute times a factor. A fraction in the product is the probability of
// one more arrival.
type traceProcess struct {
	trace     *Trace
	factor    float64
	placement string
}

func (p *traceProcess) streams() int { return len(p.trace.Functions) }
func (p *traceProcess) minutes() int { return p.trace.Minutes }

func (p *traceProcess) expected(stream, minute int) float64 {
	return float64(p.trace.Functions[stream].Counts[minute]) * p.factor
}

func (p *traceProcess) draw(dst []int32, k rng.Key, stream, minute int, scale float64) []int32 {
	c := p.trace.Functions[stream].Counts[minute]
	if c == 0 {
		return dst
	}
	k = k.With(uint64(stream)).With(uint64(minute))
	return place(dst, k, round(float64(float64(float64(c)*p.factor)*scale), k), p.placement)
}

// maxPerMinute is the most arrivals of a stream in a minute: a wrong number in a configuration must give an error, not
// use up the memory.
const maxPerMinute = 1 << 24

// The processes below have a piecewise constant rate. Their arrivals come from time rescaling: within each minute, draw
// a Poisson process of rate 1 as the sums of exponential draws E_0 + E_1 + …, and place arrival k where the cumulative
// rate reaches the k-th sum. Each minute starts new sums. The exponential distribution is memoryless, so this does not
// change the process, and any minute can be drawn by itself.

// mapper maps a Poisson process of rate 1 to one with a piecewise constant rate.
type mapper struct {
	k    rng.Key // of the stream and minute
	n    uint64
	left float64 // cumulative rate until the next arrival
	dst  []int32
}

func newMapper(dst []int32, k rng.Key, stream, minute int) mapper {
	k = k.With(uint64(stream)).With(uint64(minute))
	return mapper{k: k, left: k.With(0).Exp(), dst: dst}
}

// piece appends the arrivals between two microseconds of the minute at a rate per microsecond.
func (m *mapper) piece(from, to, rate float64) {
	for mass := float64(rate * (to - from)); m.left < mass; mass = float64(rate * (to - from)) {
		from += m.left / rate
		m.dst = append(m.dst, int32(min(int64(from), Minute-1)))
		m.n++
		m.left = m.k.With(m.n).Exp()
	}
	m.left -= float64(rate * (to - from))
}

// poissonProcess has one stream of constant rate.
type poissonProcess struct {
	rate   float64 // per second
	length int
}

func (p *poissonProcess) streams() int              { return 1 }
func (p *poissonProcess) minutes() int              { return p.length }
func (p *poissonProcess) expected(_, _ int) float64 { return 60 * p.rate }

func (p *poissonProcess) draw(dst []int32, k rng.Key, stream, minute int, scale float64) []int32 {
	m := newMapper(dst, k, stream, minute)
	m.piece(0, float64(Minute), p.rate*scale/float64(Second))
	return m.dst
}

// periodicProcess has one stream of rate·(1 + amplitude·sin(2π(t-phase)/period)) arrivals per second. The rate is
// constant over each second, at its value in the second's middle.
type periodicProcess struct {
	rate   float64
	wave   Wave
	length int
}

func (p *periodicProcess) streams() int { return 1 }
func (p *periodicProcess) minutes() int { return p.length }

// at returns the rate per second at a second of the workload.
func (p *periodicProcess) at(second int) float64 {
	minutes := (float64(second) + 0.5) / 60
	turn := (minutes - p.wave.Phase) / p.wave.Period
	turn -= math.Floor(turn)
	return p.rate * (1 + float64(p.wave.Amplitude*portable.Sin(2*math.Pi*turn)))
}

func (p *periodicProcess) expected(_, minute int) float64 {
	var n float64
	for s := range 60 {
		n += p.at(60*minute + s)
	}
	return n
}

func (p *periodicProcess) draw(dst []int32, k rng.Key, stream, minute int, scale float64) []int32 {
	m := newMapper(dst, k, stream, minute)
	for s := range 60 {
		m.piece(float64(int64(s)*Second), float64(int64(s+1)*Second), p.at(60*minute+s)*scale/float64(Second))
	}
	return m.dst
}

// burstyProcess has one stream, a two-state Markov-modulated Poisson process: times at a base rate alternate with
// bursts of factor times that rate, and both have exponential lengths. The state is drawn again from its stationary
// distribution at the beginning of every block of burstBlock minutes, so that a minute can be drawn without all earlier
// ones. This keeps the mean and the distribution of each minute's arrivals; only the correlation between blocks is
// lost.
type burstyProcess struct {
	rate   float64
	burst  Burst
	length int
}

// burstBlock is the length in minutes of a block with its own initial state.
const burstBlock = 60

func (p *burstyProcess) streams() int { return 1 }
func (p *burstyProcess) minutes() int { return p.length }

// share returns the share of time spent in bursts.
func (p *burstyProcess) share() float64 { return p.burst.On / (p.burst.On + p.burst.Off) }

func (p *burstyProcess) expected(_, _ int) float64 {
	return 60 * p.rate * (1 + float64(p.share()*(p.burst.Factor-1)))
}

func (p *burstyProcess) draw(dst []int32, k rng.Key, stream, minute int, scale float64) []int32 {
	m := newMapper(dst, k, stream, minute)
	state := k.With(uint64(stream)).With(1<<40 + uint64(minute/burstBlock))
	on := state.With(0).Float64() < p.share()
	begin := float64(int64(minute%burstBlock) * Minute) // of this minute, from the beginning of the block
	end := begin + float64(Minute)
	at := 0.0
	for j := uint64(1); at < end; j++ {
		mean, rate := p.burst.Off, p.rate*scale
		if on {
			mean, rate = p.burst.On, p.rate*scale*p.burst.Factor
		}
		next := at + float64(state.With(j).Exp()*mean*float64(Second))
		if next > begin {
			m.piece(max(at, begin)-begin, min(next, end)-begin, rate/float64(Second))
		}
		at, on = next, !on
	}
	return m.dst
}

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
	periodic := period == day || smooth == period
	for p := range f.profile {
		n, at := 0, p-smooth/2
		if periodic && at < 0 {
			at += period
		}
		for range smooth {
			if periodic && at == period {
				at = 0
			}
			if at >= 0 && at < period {
				f.profile[p] += mean[at]
				n++
			}
			at++
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
