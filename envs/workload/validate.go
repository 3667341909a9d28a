package workload

import (
	"fmt"
	"math"
	"slices"
)

// Validate reports the first field that is wrong, by its name, and what would be right. It opens no file. Fields that the
// kind does not use are checked too: a configuration that is right for one kind is right when the kind changes.
func (c *Config) Validate() error {
	positive := func(x float64) bool { return x > 0 && !math.IsInf(x, 0) }
	oneOf := func(s string, of ...string) bool { return slices.Contains(of, s) }
	for _, check := range []struct {
		ok    bool
		field string
		got   any
		want  string
	}{
		{oneOf(c.Kind, Azure2019, Calibrated, Poisson, Bursty, Periodic, ClosedLoop), "kind", c.Kind,
			fmt.Sprintf("%s, %s, %s, %s, %s or %s", Azure2019, Calibrated, Poisson, Bursty, Periodic, ClosedLoop)},
		{c.Sample >= 0, "sample", c.Sample, "0 or the N of In-Vitro's N_inv.csv"},
		{c.Path != "" || c.Sample == 0 || c.Sample == embeddedSample, "sample", c.Sample,
			fmt.Sprintf("0 or %d, that of the embedded trace, or a path", embeddedSample)},
		{c.Path != "" || len(c.Days) == 0, "days", c.Days, "none: the embedded trace has one day; set path"},
		{!slices.ContainsFunc(c.Days, func(d int) bool { return d < 1 || d > 99 }), "days", c.Days, "days from 1 on"},
		{!repeats(c.Days), "days", c.Days, "each day once"},
		{c.Functions.Top >= 0, "functions.top", c.Functions.Top, "0 for all, or how many"},
		{!slices.Contains(c.Functions.Names, ""), "functions.names", c.Functions.Names, "beginnings of names, none empty"},
		{oneOf(c.Streams, StreamsTotal, StreamsFunction), "streams", c.Streams, "total or function"},
		{c.Minutes == (Range{}) || c.Minutes.From >= 0 && c.Minutes.To > c.Minutes.From, "minutes",
			fmt.Sprintf("%d to %d", c.Minutes.From, c.Minutes.To), "from 0 or above, to above from"},
		{oneOf(c.Split, "all", "train", "test"), "split", c.Split, "all, train or test"},
		{c.TrainFraction > 0 && c.TrainFraction < 1, "train_fraction", c.TrainFraction, "a number in (0, 1)"},
		{positive(c.Factor), "factor", c.Factor, "a finite number above 0"},
		{oneOf(c.Placement, Exponential, Uniform, Even), "placement", c.Placement, "exponential, uniform or even"},
		{c.Smooth >= 1 && c.Smooth <= day, "smooth", c.Smooth, fmt.Sprintf("minutes from 1 to %d", day)},
		{positive(c.Rate), "rate", c.Rate, "arrivals per second, finite and above 0"},
		{c.Length >= 1 && c.Length <= maxLength, "length", c.Length, fmt.Sprintf("minutes from 1 to %d", maxLength)},
		{c.Burst.Factor >= 1 && !math.IsInf(c.Burst.Factor, 0), "burst.factor", c.Burst.Factor, "a finite number of at least 1"},
		{c.Burst.On >= 1 && !math.IsInf(c.Burst.On, 0), "burst.mean_on", c.Burst.On, "seconds, finite and at least 1"},
		{c.Burst.Off >= 1 && !math.IsInf(c.Burst.Off, 0), "burst.mean_off", c.Burst.Off, "seconds, finite and at least 1"},
		{positive(c.Wave.Period), "wave.period", c.Wave.Period, "minutes, finite and above 0"},
		{c.Wave.Amplitude >= 0 && c.Wave.Amplitude <= 1, "wave.amplitude", c.Wave.Amplitude, "a number from 0 to 1"},
		{!math.IsNaN(c.Wave.Phase) && !math.IsInf(c.Wave.Phase, 0), "wave.phase", c.Wave.Phase, "a finite number of minutes"},
		{c.Users.Count >= 1, "users.count", c.Users.Count, "at least 1"},
		{positive(c.Users.SpawnRate), "users.spawn_rate", c.Users.SpawnRate, "users per second, finite and above 0"},
		{c.Users.Think >= 0 && c.Users.Think <= 1e9, "users.think", c.Users.Think, "seconds from 0 to 1e9"},
		{oneOf(c.Users.ThinkLaw, Constant, Uniform, Exponential), "users.think_law", c.Users.ThinkLaw, "constant, uniform or exponential"},
		{c.peak() <= maxPerMinute, "rate", c.Rate, fmt.Sprintf("one that with factor and bursts gives at most %d arrivals a minute", maxPerMinute)},
	} {
		if !check.ok {
			return &FieldError{check.field, check.got, check.want}
		}
	}
	return nil
}

const (
	// embeddedSample is the N of the embedded trace.
	embeddedSample = 50
	// maxLength is a century.
	maxLength = 100 * 366 * day
)

// peak returns the highest mean arrivals per minute of a process without a trace.
func (c *Config) peak() float64 {
	rate := 60 * c.Rate * c.Factor
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
