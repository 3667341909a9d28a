package workload

import (
	"math"

	"github.com/stoker-rl/stoker/rng"
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
