package workload

import (
	"math"

	"github.com/stoker-rl/stoker/rng"
)

// law says how many arrivals each stream has in each minute and where in the minute they lie. It is shared and does not
// change.
type law interface {
	streams() int
	minutes() int
	// expected returns the mean number of arrivals of a stream in a minute of the workload.
	expected(stream, minute int) float64
	// draw appends the microseconds within the minute at which the stream's arrivals lie, arrival k being the k-th. It is
	// a function of the key, the stream and the minute alone. The key is the source's; what is drawn from it must depend
	// on the stream first.
	draw(dst []int32, k rng.Key, stream, minute int) []int32
}

// Placements, as [Config.Placement] names them.
const (
	Exponential = "exponential"
	Uniform     = "uniform"
	Even        = "even"
)

// place appends n arrivals of a minute. k is the key of the stream and minute.
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
	default: // given their number, the arrivals of a Poisson process lie anywhere, independently
		for i := range n {
			dst = append(dst, int32(k.With(uint64(i)).IntN(int(Minute))))
		}
	}
	return dst
}

// part returns where the i-th of n equal parts of a minute begins.
func part(i, n int) int64 { return int64(i) * Minute / int64(n) }

// round returns x rounded down or up such that its mean over keys is x.
func round(x float64, k rng.Key) int {
	n := math.Floor(x)
	if k.Float64() < x-n {
		n++
	}
	return int(n)
}

// traceLaw gives the trace's own invocations per minute times a factor; what the factor leaves of a fraction is one
// more arrival with that probability.
type traceLaw struct {
	trace     *Trace
	factor    float64
	placement string
}

func (l *traceLaw) streams() int { return len(l.trace.Functions) }
func (l *traceLaw) minutes() int { return l.trace.Minutes }

func (l *traceLaw) expected(stream, minute int) float64 {
	return float64(l.trace.Functions[stream].Counts[minute]) * l.factor
}

func (l *traceLaw) draw(dst []int32, k rng.Key, stream, minute int) []int32 {
	c := l.trace.Functions[stream].Counts[minute]
	if c == 0 {
		return dst
	}
	k = k.With(uint64(stream)).With(uint64(minute))
	return place(dst, k, round(float64(float64(c)*l.factor), k), l.placement)
}

// maxPerMinute bounds a stream's arrivals in a minute, so that one number too many is an error and not a full memory.
const maxPerMinute = 1 << 24
