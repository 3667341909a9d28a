package workload

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/bounds"
)

// Validate reports the first wrong field by its name and says what is expected. It opens no file. It also checks the
// fields that the kind does not use, so that a valid configuration stays valid when the kind changes.
func (c *Config) Validate() error {
	var w *bounds.Error
	if errors.As(bounds.Check(c), &w) {
		return &FieldError{w.Key, w.Text}
	}
	switch {
	case c.Factor != Auto && !(c.Factor > 0 && c.Factor <= math.MaxFloat64):
		return wrong("factor", float64(c.Factor), "more than 0, or auto")
	case c.Path == "" && c.Sample != 0 && c.Sample != embeddedSample:
		return wrong("sample", c.Sample, fmt.Sprintf("0 or %d, which is the embedded trace, or set path", embeddedSample))
	case c.Path == "" && len(c.Days) > 0:
		return wrong("days", c.Days, "none: the embedded trace has one day; set path")
	case repeats(c.Days):
		return wrong("days", c.Days, "each day once")
	case slices.Contains(c.Functions.Names, ""):
		return wrong("functions.names", c.Functions.Names, "prefixes of names, none of them empty")
	case c.Minutes != (Range{}) && c.Minutes.To <= c.Minutes.From:
		return wrong("minutes", fmt.Sprintf("%d to %d", c.Minutes.From, c.Minutes.To), "from 0 or above, to above from")
	case c.Mean > 0 && c.Kind == ClosedLoop:
		return wrong("mean", c.Mean, "0 with closed-loop users: their number and think time make the load")
	case c.Factor == Auto && c.Kind == ClosedLoop:
		return wrong("factor", c.Factor, "a number with closed-loop users: it has no effect on them")
	case c.Mean > 0 && c.Factor != 1:
		return wrong("mean", c.Mean, fmt.Sprintf("either a mean or a factor, and workload.factor is %v; set "+
			"workload.factor=1 to have the mean, workload.mean=0 to have the factor", c.Factor))
	case c.Mean*60*c.Draw.high() > maxPerMinute:
		return wrong("mean", c.Mean, fmt.Sprintf("at most %d arrivals a minute", maxPerMinute))
	case c.peak() > maxPerMinute:
		return wrong("rate", c.Rate, fmt.Sprintf("one that with factor and bursts gives at most %d arrivals a minute",
			maxPerMinute))
	}
	return c.validateDraw()
}

// embeddedSample is the sample number N of the embedded trace.
const embeddedSample = 50

// peak returns the highest mean arrivals per minute of a process without a trace.
func (c *Config) peak() float64 {
	rate := 60 * c.Rate * max(0, float64(c.Factor)) * c.Draw.high()
	switch c.Kind {
	case Bursty:
		return rate * c.Burst.Factor
	case Periodic:
		return rate * (1 + c.Wave.Amplitude)
	case Poisson:
		return rate
	}
	return 0
}

func repeats(days []int) bool {
	sorted := slices.Sorted(slices.Values(days))
	return len(slices.Compact(sorted)) < len(days)
}
