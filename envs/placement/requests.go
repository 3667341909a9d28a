package placement

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// noEvent is later than any event.
const noEvent = math.MaxInt64

// open opens the source of arrivals at the largest load that an episode can have.
func (s *System) open(w workload.Config) error {
	c := &s.config
	rate := s.Rate(max(c.Load, c.LoadTo))
	d := workload.Default()
	d.Rate, d.Length = rate, int(c.Seconds/60)+1
	switch c.Workload {
	case Steady:
		return nil
	case Poisson, Mixed, TPCH:
		d.Kind = workload.Poisson
	case Bursty:
		d.Kind, d.Burst = workload.Bursty, c.Burst
		d.Rate = 1
		if share := c.Burst.On / (c.Burst.On + c.Burst.Off); share >= 0 && share <= 1 {
			d.Rate = rate / (1 + float64(share*(c.Burst.Factor-1)))
		}
	case Periodic:
		d.Kind, d.Wave = workload.Periodic, c.Wave
	case Azure:
		trace := s.source.Trace()
		if minutes := float64(trace.Minutes); c.Seconds/60 > minutes {
			return fmt.Errorf("seconds is %g, but the trace has %g", c.Seconds, 60*minutes)
		}
		d = w
		d.Kind, d.Streams, d.Mean = workload.Azure2019, workload.StreamsFunction, 0
		d.Factor = workload.Factor(rate * 60 * float64(trace.Minutes) / float64(trace.Total()))
	}
	if max(c.Load, c.LoadTo) == 0 {
		s.source = nil
		return nil
	}
	var err error
	s.source, err = workload.Open(d)
	return err
}

// arrivals draws the requests. The k-th request depends on the seed and k alone. Where an episode's load is below the
// largest, each request of the largest load is kept with the probability of their ratio, so that the requests of a
// lower load are among those of a higher one.
type arrivals struct {
	s      *System
	from   workload.Arrivals // nil where the gaps are drawn here, or nothing arrives
	end    int64             // µs from which on none arrive
	traced func(purpose string, a, b, c uint64, value float64)

	upcoming
	rate // follows from the episode's load
}

// upcoming is the next request, and the keys from which later ones are drawn.
type upcoming struct {
	offset int64   // start of the episode in the source, µs
	time   float64 // µs of the next request, where gaps are drawn here
	number uint64
	next   int64 // when it arrives
	stream int32 // of the source

	gaps, stay, kind, size, priority, noise rng.Key
}

// rate is how often requests come.
type rate struct {
	gap   float64 // mean, in µs, where gaps are drawn here; 0 where nothing arrives
	stays float64 // probability that a request of the source is kept
}

func newArrivals(s *System) (arrivals, error) {
	a := arrivals{s: s, end: micros(s.config.Seconds)}
	if s.source == nil {
		return a, nil
	}
	var err error
	a.from, err = s.source.Arrivals(0)
	return a, err
}

// begin starts an episode with a load.
func (a *arrivals) begin(seed uint64, load float64) {
	c := &a.s.config
	a.time, a.number, a.offset = 0, 0, 0
	a.thin(load)
	a.draws(seed)
	if a.from != nil {
		a.from.Reset(seed)
		if c.Workload == Azure {
			if free := a.s.source.Minutes() - int(math.Ceil(c.Seconds/60)); free > 0 {
				a.offset = int64(rng.New(seed, "minute").IntN(free+1)) * workload.Minute
			}
			a.from.SeekTo(a.offset)
		}
	}
	a.advance(true)
}

// thin sets the rate of an episode's load: the mean gap, or the probability that a request of the source is kept.
func (a *arrivals) thin(load float64) {
	c := &a.s.config
	a.rate = rate{stays: 1}
	switch {
	case load == 0:
		a.stays = 0
	case a.from == nil:
		a.gap = 1e6 / a.s.Rate(load)
	default:
		a.stays = load / max(c.Load, c.LoadTo)
	}
}

// draws sets the keys of all draws.
func (a *arrivals) draws(seed uint64) {
	a.gaps, a.stay, a.kind = rng.New(seed, "gap"), rng.New(seed, "stay"), rng.New(seed, "workflow")
	a.size, a.priority, a.noise = rng.New(seed, "size"), rng.New(seed, "priority"), rng.New(seed, "noise")
}

// imagine draws everything after now from another seed.
func (a *arrivals) imagine(seed uint64, now int64) {
	a.draws(seed)
	if a.from != nil && a.next != noEvent {
		a.from.Reset(seed)
		a.from.SeekTo(now + a.offset)
		a.advance(false)
	}
}

// advance finds the next request.
func (a *arrivals) advance(first bool) {
	if !first {
		a.number++
	}
	for {
		switch {
		case a.stays == 0:
			a.next = noEvent
			return
		case a.from == nil:
			gap := float64(a.gap * max(0, 1+float64(a.s.config.Variation*a.gaps.With(a.number).Norm())))
			a.report("gap", a.number, 0, gap)
			a.time += gap
			a.next, a.stream = int64(a.time), 0
		default:
			x, ok := a.from.Next()
			if !ok {
				a.next = noEvent
				return
			}
			a.next, a.stream = x.Time-a.offset, x.Stream
		}
		if a.next >= a.end {
			a.next = noEvent
			return
		}
		if a.stays >= 1 {
			return
		}
		u := a.stay.With(a.number).Float64()
		a.report("stay", a.number, 0, u)
		if u < a.stays {
			return
		}
		a.number++
	}
}

// drawing is what is drawn for a request.
type drawing struct {
	workflow, priority int
	size               float64
}

// draw returns the draws of the next request.
func (a *arrivals) draw() (d drawing) {
	n, c := a.number, &a.s.config
	if c.Workload == Azure {
		d.workflow = int(a.stream)
	} else {
		d.workflow = pick(a.s.chances, a.kind.With(n).Float64())
	}
	a.report("workflow", n, 0, float64(d.workflow))
	d.size = c.Size.at(a.size.With(n).Float64())
	a.report("size", n, 0, d.size)
	d.priority = pick(a.s.chance, a.priority.With(n).Float64())
	a.report("priority", n, 0, float64(d.priority))
	return d
}

// factor is the ratio of an execution's time to its expected time: exp(σ·z − σ²/2), of mean 1.
func (a *arrivals) factor(step int) float64 {
	sigma := a.s.config.Noise
	if sigma == 0 {
		return 1
	}
	z := a.noise.With(a.number).With(uint64(step)).Norm()
	x := portable.Exp(float64(sigma*z) - float64(sigma*sigma/2))
	a.report("noise", a.number, uint64(step), x)
	return x
}

func (a *arrivals) report(purpose string, x, y uint64, value float64) {
	if a.traced != nil {
		a.traced(purpose, x, y, 0, value)
	}
}

// State implements [state.Stater].
func (a *arrivals) State(c *state.Codec) {
	state.Value(c, &a.upcoming)
	if !c.Stored() {
		state.Value(c, &a.rate)
	}
	if a.from != nil {
		state.Member(c, a.from)
	}
}

// restore checks what was loaded, and sets the rate of the episode's load.
func (a *arrivals) restore(load float64) error {
	if a.stream < 0 || int(a.stream) >= len(a.s.workflows) || a.offset < 0 || !(a.time >= 0) {
		return fmt.Errorf("the next request is of stream %d at %g µs, of an episode that begins at %d µs; want a stream "+
			"below %d", a.stream, a.time,
			a.offset, len(a.s.workflows))
	}
	if a.next != noEvent && (a.next < 0 || a.next >= a.end || load == 0 || a.from == nil && a.next != int64(a.time)) {
		return fmt.Errorf("the next request arrives at %d µs, want 0 to below %d", a.next, a.end)
	}
	a.thin(load)
	return nil
}

// load is the load of an episode, drawn from its seed where it is a range.
func (a *arrivals) load(seed uint64) float64 {
	c := &a.s.config
	if c.LoadTo <= c.Load {
		return c.Load
	}
	return Span{c.Load, c.LoadTo}.at(rng.New(seed, "load").Float64())
}

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
