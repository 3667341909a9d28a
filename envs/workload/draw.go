package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// On reports whether anything is drawn.
func (d *Draw) On() bool { return len(d.Factor) > 0 || len(d.Traces) > 0 }

// low and high are the ends of the range of factors.
func (d *Draw) low() float64 {
	if len(d.Factor) == 0 {
		return 1
	}
	return d.Factor[0]
}

func (d *Draw) high() float64 {
	if len(d.Factor) == 0 {
		return 1
	}
	return d.Factor[len(d.Factor)-1] // the only one where Validate has yet to refuse it
}

// at is the factor at a share of the range, from 0 to 1.
func (d *Draw) at(u float64) float64 {
	low, high := d.low(), d.high()
	if low == high {
		return low
	}
	return low * portable.Exp(u*portable.Log(high/low))
}

// Factors returns the smallest factor that is drawn, the expected one and the largest; all are 1 where none is drawn.
func (d Draw) Factors() (low, mean, high float64) { return d.low(), d.mean(), d.high() }

// mean is the expected factor.
func (d *Draw) mean() float64 {
	low, high := d.low(), d.high()
	if low == high {
		return low
	}
	return (high - low) / math.Log(high/low)
}

// validateDraw reports what is wrong with the draw.
func (c *Config) validateDraw() error {
	d := &c.Draw
	switch {
	case !d.On():
		return nil
	case c.Kind == ClosedLoop:
		return &FieldError{"draw", "is given, want nothing with closed-loop users: env.users draws their number"}
	case len(d.Factor) == 1 || len(d.Factor) > 2:
		return wrong("draw.factor", d.Factor, "two numbers, the ends of the range: [0.5, 2]")
	case d.high() < d.low():
		return wrong("draw.factor", d.Factor, fmt.Sprintf("the lower end first: [%g, %g]", d.high(), d.low()))
	}
	for i := range d.Traces {
		if err := c.choose(i).Validate(); err != nil {
			return inTrace(i, err)
		}
	}
	return nil
}

// inTrace says of which of the loads an error is.
func inTrace(i int, err error) error {
	var w *FieldError
	if !errors.As(err, &w) {
		return fmt.Errorf("workload.draw.traces[%d]: %w", i, err)
	}
	own := []string{"kind", "path", "sample", "days", "functions", "functions.names", "functions.triggers", "minutes"}
	if slices.Contains(own, w.Field) {
		return &FieldError{fmt.Sprintf("draw.traces[%d].%s", i, w.Field), w.Text}
	}
	// A key of the section: with this load it does not do.
	return &FieldError{w.Field, fmt.Sprintf("%s, for draw.traces[%d]", w.Text, i)}
}

// choose is the configuration with the i-th load of the draw in place of its own. The range of factors stays.
func (c Config) choose(i int) *Config {
	t := &c.Draw.Traces[i]
	c.Kind, c.Path, c.Sample, c.Days, c.Functions, c.Minutes = t.Kind, t.Path, t.Sample, t.Days, t.Functions, t.Minutes
	if t.Burst != nil {
		c.Burst = *t.Burst
	}
	if t.Wave != nil {
		c.Wave = *t.Wave
	}
	c.Draw.Traces = nil
	return &c
}

// Drawn is what an episode draws of its load.
type Drawn struct {
	// Load is its index in [Source.Loads].
	Load int
	// Factor multiplies the expected arrivals of that load.
	Factor float64
	// Minutes is the length of that load.
	Minutes int
}

// Drawn returns what the episode of a seed draws. Where nothing is drawn it is the only load at a factor of 1.
func (s *Source) Drawn(seed uint64) Drawn {
	d := Drawn{Factor: 1}
	if len(s.loads) > 1 {
		d.Load = rng.New(seed, "workload/draw trace").IntN(len(s.loads))
	}
	if len(s.config.Draw.Factor) > 0 {
		d.Factor = s.config.Draw.at(rng.New(seed, "workload/draw factor").Float64())
	}
	d.Minutes = s.loads[d.Load].minutes()
	return d
}

// Loads returns the configurations of the loads of which an episode draws one, each with the factor that follows from a
// mean or from auto; there is one where none is drawn.
func (s *Source) Loads() []Config {
	out := make([]Config, len(s.loads))
	for i := range out {
		out[i] = s.loads[i].config
	}
	return out
}

// Traces are the names of the recorded traces of which an episode draws one, none where it draws none or some of the loads
// are random processes.
func (s *Source) Traces() (out []string) {
	for i := range s.loads {
		c := &s.loads[i].config
		if c.Kind != Azure2019 || len(s.loads) == 1 {
			return nil
		}
		name := c.Label()
		if f := c.Functions.String(); f != "" {
			name += ", " + f
		}
		if c.Minutes != (Range{}) {
			name += fmt.Sprintf(", minutes %d to %d", c.Minutes.From, c.Minutes.To)
		}
		out = append(out, name)
	}
	return out
}

// Label names the kind of a load and where its trace comes from, in a few words: azure2019 (embedded).
func (c *Config) Label() string {
	if c.Kind != Azure2019 && c.Kind != Calibrated {
		return c.Kind
	}
	if c.Path == "" {
		return c.Kind + " (embedded)"
	}
	return fmt.Sprintf("%s (%s)", c.Kind, filepath.Base(c.Path))
}

// quantiles is the number of factors that stand for a range of them.
const quantiles = 9

// Rates returns the expected arrivals per second of all streams together, in each minute of the workload. Where
// episodes draw their load it is that of all loads, one after another, each as many minutes of the load evenly spread as
// the shortest has, and for each of nine factors spread evenly over the range of the draws. In a closed loop there are
// none.
func (s *Source) Rates() []float64 {
	factors := []float64{1}
	if len(s.config.Draw.Factor) > 0 {
		factors = factors[:0]
		for q := range quantiles {
			factors = append(factors, s.config.Draw.at((float64(q)+0.5)/quantiles))
		}
	}
	n := s.Minutes()
	out := make([]float64, 0, n*len(s.loads)*len(factors))
	for i := range s.loads {
		p := s.loads[i].process
		for m := range n {
			rate := rateAt(p, m*p.minutes()/n)
			for _, f := range factors {
				out = append(out, float64(f*rate))
			}
		}
	}
	return out
}

// Means returns the smallest and the largest mean arrivals per second that an episode's load can have, over all its
// minutes.
func (s *Source) Means() (least, most float64) {
	least = math.Inf(1)
	for i := range s.loads {
		mean := meanRate(s.loads[i].process)
		least, most = min(least, mean), max(most, mean)
	}
	return least * s.config.Draw.low(), most * s.config.Draw.high()
}

// Missing names files and days that the traces lack.
func (s *Source) Missing() (out []string) {
	for i := range s.loads {
		if t := s.loads[i].trace; t != nil {
			out = append(out, t.Report.Missing...)
		}
	}
	return out
}

// EachPath returns the configuration with every path to a trace replaced by what f makes of it; empty ones stay.
func (c Config) EachPath(f func(path string) (string, error)) (Config, error) {
	c.Draw.Traces = slices.Clone(c.Draw.Traces)
	paths := []*string{&c.Path}
	for i := range c.Draw.Traces {
		paths = append(paths, &c.Draw.Traces[i].Path)
	}
	for _, p := range paths {
		if *p == "" {
			continue
		}
		var err error
		if *p, err = f(*p); err != nil {
			return c, err
		}
	}
	return c, nil
}

// identity describes the draw as [Config.Identity] does the rest; empty where nothing is drawn.
func (c *Config) drawIdentity() string {
	if !c.Draw.On() {
		return ""
	}
	d, err := c.EachPath(func(string) (string, error) { return "", nil })
	if err != nil {
		return err.Error() // it has none
	}
	text, err := json.Marshal(d.Draw)
	if err != nil {
		return err.Error() // numbers that are not finite, which Validate refuses
	}
	return fmt.Sprintf(" mean %v draw %s", c.Mean, text)
}

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
