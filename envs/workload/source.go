package workload

import (
	"fmt"
	"hash/fnv"
	"math"

	"github.com/stoker-rl/stoker/rng"
)

// Microseconds of a second and of a minute: arrivals are placed minute by minute, on the simulator's clock.
const (
	Second int64 = 1_000_000
	Minute int64 = 60 * Second
)

// Arrival is one request entering the system.
type Arrival struct {
	// Time in microseconds from the workload's start.
	Time int64
	// Stream is the function of the trace, or 0 where the workload is one stream.
	Stream int32
	// Number counts the stream's draws within its minute from 0; it says nothing of their order in time. (Stream, minute,
	// Number) names the request.
	Number int32
}

// ID returns a number that names the request within its stream: its minute and its number there. Use it as a draw's
// coordinate, beside the stream.
func (a Arrival) ID() uint64 { return uint64(a.Time/Minute)<<32 | uint64(uint32(a.Number)) }

// Arrivals gives the arrivals of a source in order of time. Arrivals at the same microsecond come by stream, then by
// number. After warm-up it does not allocate.
type Arrivals interface {
	// Next gives the next arrival, and false after the last.
	Next() (Arrival, bool)
	// SeekTo moves to the first arrival at or after a time in microseconds, forwards or back, without drawing what lies
	// between.
	SeekTo(t int64)
	// Reset moves to the start under another seed.
	Reset(seed uint64)
	// CopyFrom makes this iterator equal to another of the same source.
	CopyFrom(src Arrivals) error
	// AppendBinary appends the iterator's state: a few numbers, whatever the length of the workload.
	AppendBinary(b []byte) ([]byte, error)
	// UnmarshalBinary restores a state of an equal source. A damaged or foreign one is refused and changes nothing.
	UnmarshalBinary(b []byte) error
}

// Source is a workload ready to be drawn from. It does not change and may be shared; what it gives may not.
type Source struct {
	config      Config
	trace       *Trace
	law         law
	fingerprint uint64 // of what the draws depend on
}

// Open makes the source that a configuration describes, reading its trace if it has one.
func Open(c Config) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s := &Source{config: c}
	if c.Kind == Azure2019 || c.Kind == Calibrated {
		t, err := c.openTrace()
		if err != nil {
			return nil, err
		}
		s.trace = t
		if err := c.checkPeak(t); err != nil {
			return nil, err
		}
	}
	rate := c.Rate * c.Factor
	switch c.Kind {
	case Azure2019:
		s.law = &traceLaw{s.trace, c.Factor, c.Placement}
	case Calibrated:
		s.law = calibrate(s.trace, c.Smooth, c.Length, c.Factor, c.Placement)
	case Poisson:
		s.law = &poissonLaw{rate, c.Length}
	case Bursty:
		s.law = &burstyLaw{rate, c.Burst, c.Length}
	case Periodic:
		s.law = &periodicLaw{rate, c.Wave, c.Length}
	}
	s.hash()
	return s, nil
}

// openTrace reads the trace, filtered, cut and split as configured.
func (c *Config) openTrace() (*Trace, error) {
	var t *Trace
	var err error
	if c.Path == "" {
		if t, err = Embedded(); err == nil {
			t, err = t.Select(c.Functions)
		}
		if err == nil && c.Streams == StreamsTotal {
			t, err = t.Sum()
		}
	} else {
		t, err = ReadTrace(c.Path, ReadOptions{Sample: c.Sample, Days: c.Days, Functions: c.Functions,
			Total: c.Streams == StreamsTotal})
	}
	if err != nil {
		return nil, err
	}
	if r := c.Minutes; r.To > t.Minutes {
		return nil, wrong("minutes", fmt.Sprintf("%d to %d", r.From, r.To),
			fmt.Sprintf("a range within the trace's 0 to %d", t.Minutes))
	}
	if t, err = t.Cut(c.Minutes); err != nil || c.Split == "all" {
		return t, err
	}
	train, test, err := t.Split(c.TrainFraction)
	if c.Split == "test" {
		return test, err
	}
	return train, err
}

// checkPeak refuses a factor that gives more arrivals than a minute may have.
func (c *Config) checkPeak(t *Trace) error {
	for i := range t.Functions {
		for m, n := range t.Functions[i].Counts {
			if float64(n)*c.Factor > maxPerMinute/2 { // half, since a calibrated minute may exceed the trace's busiest
				return wrong("factor", c.Factor, fmt.Sprintf("one that gives at most %d arrivals a minute; minute %d of %.12s has %d invocations",
					maxPerMinute/2, m, t.Functions[i].Name, n))
			}
		}
	}
	return nil
}

// hash makes the fingerprint of what the draws depend on, so that a saved state of another source is refused.
func (s *Source) hash() {
	h := fnv.New64a()
	c := s.config
	fmt.Fprintf(h, "%q %q %d %v %v %v %x %x %d %d", c.Kind, c.Placement, c.Smooth, c.Burst, c.Wave, c.Users,
		math.Float64bits(c.Factor), math.Float64bits(c.Rate), s.Minutes(), s.Streams())
	if s.trace != nil {
		for i := range s.trace.Functions {
			f := &s.trace.Functions[i]
			var weighted uint64
			for m, n := range f.Counts {
				weighted += uint64(n) * uint64(2*m+1)
			}
			fmt.Fprintf(h, " %q %d", f.Name, weighted)
		}
	}
	s.fingerprint = h.Sum64()
}

// Config returns the configuration that the source was opened with.
func (s *Source) Config() Config { return s.config }

// Trace returns the trace behind the source, filtered and cut as configured, or nil. Its functions are the source's
// streams.
func (s *Source) Trace() *Trace { return s.trace }

// Closed reports whether the source is users in a closed loop: then use Users, else Arrivals.
func (s *Source) Closed() bool { return s.config.Kind == ClosedLoop }

// Streams returns the number of arrival streams: functions of the trace, or 1. In closed loop it is 0.
func (s *Source) Streams() int {
	if s.law == nil {
		return 0
	}
	return s.law.streams()
}

// Minutes returns the length of the workload. In closed loop it is 0: that has no end.
func (s *Source) Minutes() int {
	if s.law == nil {
		return 0
	}
	return s.law.minutes()
}

// Expected returns the mean number of arrivals of a stream in a minute of the workload (0 beyond its ends): what
// one who knows the law, but not the draws, would expect.
func (s *Source) Expected(stream, minute int) float64 {
	if stream < 0 || stream >= s.Streams() || minute < 0 || minute >= s.Minutes() {
		return 0
	}
	return s.law.expected(stream, minute)
}

// Arrivals returns an iterator at the start of the workload. In closed loop it fails.
func (s *Source) Arrivals(seed uint64) (Arrivals, error) {
	if s.law == nil {
		return nil, fmt.Errorf("workload: kind %s is users in a closed loop, want Users", s.config.Kind)
	}
	return newCursor(s.law, s.fingerprint, seed), nil
}

// Users returns the closed-loop users. In open loop it fails.
func (s *Source) Users(seed uint64) (Users, error) {
	if !s.Closed() {
		return Users{}, fmt.Errorf("workload: kind %s arrives in open loop, want Arrivals", s.config.Kind)
	}
	return Users{config: s.config.Users, think: rng.New(seed, "workload/think")}, nil
}
