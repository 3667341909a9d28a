package sim

import "math"

// Time is a moment or a duration in integer microseconds. A simulation starts at 0.
type Time int64

// Units and limits of Time.
const (
	Microsecond Time = 1
	Millisecond Time = 1000
	Second      Time = 1000 * 1000
	Minute      Time = 60 * Second
	Hour        Time = 60 * Minute

	// Forever is later than every event: Run(h, Forever) runs until nothing is left to happen.
	Forever Time = math.MaxInt64

	// MaxSpan bounds one demand, delay or timeout (about 76 hours), so that sums of them cannot overflow.
	MaxSpan Time = 1 << 38
	// maxClock ends time, after some 36,000 years: nothing happens then or later.
	maxClock Time = 1 << 60
)

// Seconds converts seconds to Time, rounded to the nearest microsecond and held inside ±MaxSpan; NaN gives 0.
func Seconds(s float64) Time {
	us := s * 1e6
	switch {
	case math.IsNaN(us):
		return 0
	case us >= float64(MaxSpan):
		return MaxSpan
	case us <= -float64(MaxSpan):
		return -MaxSpan
	}
	return Time(math.Round(us))
}

// Seconds returns t in seconds.
func (t Time) Seconds() float64 { return float64(t) / 1e6 }
