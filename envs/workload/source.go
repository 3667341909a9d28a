package workload

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
	// Number counts the stream's arrivals within its minute from 0. (Stream, minute, Number) names the request.
	Number int32
}

// ID returns a number that names the request within its stream: its minute and its place among that
// minute's draws. Use it as a draw's coordinate, beside the stream.
func (a Arrival) ID() uint64 { return uint64(a.Time/Minute)<<32 | uint64(uint32(a.Number)) }

// Arrivals gives the arrivals of a source in order of time. Arrivals at the same microsecond come by stream, then by number.
// After warm-up it does not allocate.
type Arrivals interface {
	// Next gives the next arrival, and false after the last.
	Next() (Arrival, bool)
	// SeekTo moves to the first arrival at or after a time in microseconds, forwards or back, without drawing what lies between.
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
	config Config
	trace  *Trace
}

// Open makes the source that a configuration describes, reading its trace if it has one.
func Open(c Config) (*Source, error) { return nil, nil }

// Config returns the configuration that the source was opened with.
func (s *Source) Config() Config { return s.config }

// Trace returns the trace behind the source, cut and filtered as configured, or nil.
func (s *Source) Trace() *Trace { return s.trace }

// Closed reports whether the source is users in a closed loop: then use Users, else Arrivals.
func (s *Source) Closed() bool { return s.config.Kind == ClosedLoop }

// Streams returns the number of arrival streams: functions of the trace, or 1.
func (s *Source) Streams() int { return 0 }

// Minutes returns the length of the workload. In closed loop it is 0: that has no end.
func (s *Source) Minutes() int { return 0 }

// Expected returns the mean number of arrivals of a stream in a minute of the workload (0 beyond its ends):
// what a planner with perfect knowledge of the law, not of the draws, would expect.
func (s *Source) Expected(stream, minute int) float64 { return 0 }

// Arrivals returns an iterator at the start of the workload. In closed loop it fails.
func (s *Source) Arrivals(seed uint64) (Arrivals, error) { return nil, nil }

// Users returns the closed-loop users. In open loop it fails.
func (s *Source) Users(seed uint64) (Users, error) { return Users{}, nil }

// Goodness compares the source's draws under a seed with the trace behind it, stream by stream. It fails where there is no trace.
func (s *Source) Goodness(seed uint64) (Goodness, error) { return Goodness{}, nil }
