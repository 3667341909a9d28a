package workload

import "fmt"

// scaled returns the configuration with the factor that follows from a mean, or from a factor auto, over the whole
// workload: the trace before its split, or all minutes of a process.
func (c Config) scaled(whole *Trace, serves func() (float64, error)) (Config, error) {
	mean := c.Mean
	switch {
	case c.Factor == Auto && serves == nil:
		return c, wrong("factor", c.Factor, "a number here: this has no ranges from which a factor could follow")
	case c.Factor == Auto:
		most, err := serves()
		if err != nil {
			return c, fmt.Errorf("workload.factor auto: %w", err)
		}
		mean = c.TargetUtilisation * most
	case mean == 0:
		return c, nil
	}
	c.Factor, c.Mean = 1, 0
	own := meanRate(c.process(whole))
	if own == 0 {
		return c, wrong("mean", mean, "a workload with arrivals; this one has none that could be scaled")
	}
	c.Factor = Factor(mean / own)
	return c, c.Validate()
}

// rateAt is the expected arrivals per second of all streams together in a minute.
func rateAt(p process, minute int) float64 {
	var sum float64
	for s := range p.streams() {
		sum += p.expected(s, minute)
	}
	return sum / 60
}

// meanRate is the mean arrivals per second of a process, over all its streams and minutes.
func meanRate(p process) float64 {
	var sum float64
	for m := range p.minutes() {
		for s := range p.streams() {
			sum += p.expected(s, m)
		}
	}
	return sum / 60 / float64(max(1, p.minutes()))
}

// Identity describes all of a configuration that shapes draws. Saved states of environments hold a hash of it, so its
// text must not change when keys are added: a factor that followed from another key stands for it. The path is left
// out, since only the files' contents matter, and the arrivals check those.
func (c *Config) Identity() string {
	return fmt.Sprintf("%+v", struct {
		Kind, Path    string
		Sample        int
		Days          []int
		Functions     Filter
		Streams       string
		Minutes       Range
		Split         string
		TrainFraction float64
		Factor        float64
		Placement     string
		Smooth        int
		Rate          float64
		Length        int
		Burst         Burst
		Wave          Wave
		Users         UsersConfig
	}{c.Kind, "", c.Sample, c.Days, c.Functions, c.Streams, c.Minutes, c.Split, c.TrainFraction, float64(c.Factor),
		c.Placement, c.Smooth, c.Rate, c.Length, c.Burst, c.Wave, c.Users}) + c.drawIdentity()
}
