package placement

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
)

// Serves implements [envs.Loaded]: the requests a second of load 1, [System.Rate].
func (e *Env) Serves() (float64, error) { return e.s.Rate(1), nil }

// Workload implements [envs.Loaded]: requests a second. Minutes of the azure workload differ; other workloads have one
// rate. Arrivals end after Seconds and the episode goes on to MaxTime, hence the slack.
func (e *Env) Workload() envs.Load {
	c, s := e.c, e.s
	most := max(c.Load, c.LoadTo)
	mean := c.Load
	if c.LoadTo > c.Load {
		mean = (c.Load + c.LoadTo) / 2
	}
	rates := []float64{s.Rate(mean)}
	var missing []string
	if c.Workload == Azure && s.source != nil {
		rates = s.source.Rates() // at the largest load
		for i := range rates {
			rates[i] *= mean / most
		}
		missing = s.source.Trace().Report.Missing
	}
	l := envs.NewLoad("requests/s", "minute", rates, "env.load", mean)
	l.Missing = missing
	l.Least, l.Most = s.Rate(c.Load), s.Rate(most)
	if c.LoadTo <= c.Load {
		l.Least, l.Most = l.Mean, l.Mean
	}
	l.Slack = max(1, c.MaxTime/c.Seconds)
	return l
}

// scaled returns the load that follows from workload.mean or workload.factor auto. They replace Load, and are for the
// trace alone.
func (s *System) scaled(w workload.Config) error {
	c := &s.config
	auto := w.Factor == workload.Auto
	if w.Draw.On() {
		return fmt.Errorf("workload.draw is given, want none: env.load and env.load_to are the range of loads drawn")
	}
	switch {
	case w.Mean == 0 && !auto:
		return nil
	case c.Workload != Azure && auto:
		return fmt.Errorf("workload.factor is auto, want a number where env.workload is %s: env.load scales it", c.Workload)
	case c.Workload != Azure:
		return fmt.Errorf("workload.mean is %g, want 0 where env.workload is %s: env.load scales it", w.Mean, c.Workload)
	case c.LoadTo > 0:
		return fmt.Errorf("env.load_to is %g, want 0 beside workload.mean or workload.factor auto", c.LoadTo)
	case auto:
		c.Load = w.TargetUtilisation
	default:
		c.Load = w.Mean / s.Rate(1)
	}
	return c.Validate()
}
