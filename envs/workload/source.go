package workload

import (
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/rng"
)

// Microseconds in a second and in a minute. Times of arrivals are microseconds, as in the simulator.
const (
	Second int64 = 1_000_000
	Minute int64 = 60 * Second
)

// Arrival is one request entering the system.
type Arrival struct {
	// Time in microseconds from the workload's start.
	Time int64
	// Stream is the function's index in the trace, or 0 if the workload has one stream.
	Stream int32
	// Number is the index of the draw among those of the stream in this minute; it is not their order in time. (Stream,
	// minute, Number) identifies the request.
	Number int32
}

// ID returns a number that identifies the request within its stream, made of its minute and its Number. Use it with the
// stream in the key of a draw.
func (a Arrival) ID() uint64 { return uint64(a.Time/Minute)<<32 | uint64(uint32(a.Number)) }

// Arrivals iterates over the arrivals of a source in order of time. Arrivals in the same microsecond are ordered by
// stream, then by number. After warm-up it does not allocate.
type Arrivals interface {
	// Next returns the next arrival, and false after the last.
	Next() (Arrival, bool)
	// SeekTo moves to the first arrival at or after a time in microseconds, forwards or backwards. It does not draw the
	// minutes in between.
	SeekTo(t int64)
	// Reset moves to the start under another seed, of the load that the seed draws.
	Reset(seed uint64)
	// Resample draws all arrivals from another seed, under the load already drawn, and moves to the beginning of the
	// current minute. It is for a planner that knows the law of the arrivals, but not the arrivals.
	Resample(seed uint64)
	// Continue is Resample for a planner that does not know the rates of the coming minutes either: from the first minute
	// that begins at or after now, a time in microseconds, arrivals are those of minutes that history draws. It is part of
	// CopyFrom and ends with Reset or Resample; it is not saved.
	Continue(history *History, seed uint64, now int64)
	// Drawn is what the seed has drawn of the load.
	Drawn() Drawn
	// Expected returns the mean number of arrivals of a stream in a minute of the load drawn, 0 outside it.
	Expected(stream, minute int) float64
	// CopyFrom makes this iterator equal to another of the same source.
	CopyFrom(src Arrivals) error
	// AppendBinary appends the iterator's state: a few numbers, however long the workload is.
	AppendBinary(b []byte) ([]byte, error)
	// UnmarshalBinary restores a saved state of an equal source. It refuses a damaged state, or one of another source,
	// and then changes nothing.
	UnmarshalBinary(b []byte) error
}

// Source is an opened workload. It never changes and may be shared between goroutines; its [Arrivals] may not.
type Source struct {
	config      Config
	loads       []load // of which each episode draws one; a closed loop has one without a process
	fingerprint uint64 // of all that the draws depend on
}

// load is a load that an episode can have.
type load struct {
	config  Config // with the factor that follows
	trace   *Trace
	process process
}

func (l *load) minutes() int {
	if l.process == nil {
		return 0
	}
	return l.process.minutes()
}

// Open returns the source that a configuration describes. It reads the trace if there is one. A factor auto needs
// [OpenFor].
func Open(c Config) (*Source, error) { return OpenFor(c, nil) }

// OpenFor is Open for an environment whose action ranges serve so many requests a second in the mean. It calls serves
// only if the factor is auto. The source's configuration has the factor that follows, from auto or from a mean.
func OpenFor(c Config, serves func() (float64, error)) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s := &Source{config: c}
	if len(c.Draw.Traces) == 0 {
		l, err := c.open(serves)
		if err != nil {
			return nil, err
		}
		s.config, s.loads = l.config, []load{l}
	}
	for i := range c.Draw.Traces {
		l, err := c.choose(i).open(serves)
		if err != nil {
			return nil, inTrace(i, err)
		}
		if n := l.process.streams(); i > 0 && n != s.Streams() {
			return nil, wrong("streams", c.Streams, fmt.Sprintf("total: of the loads in draw.traces, number 0 has %d streams "+
				"and number %d has %d", s.Streams(), i, n))
		}
		s.loads = append(s.loads, l)
	}
	s.hash()
	return s, nil
}

// open opens the one load of a configuration.
func (c Config) open(serves func() (float64, error)) (load, error) {
	whole, err := c.openTrace()
	if err != nil {
		return load{}, err
	}
	if c, err = c.scaled(whole, serves); err != nil {
		return load{}, err
	}
	l := load{config: c}
	if l.trace, err = c.part(whole); err != nil {
		return load{}, err
	}
	if err := c.checkPeak(l.trace); err != nil {
		return load{}, err
	}
	l.process = c.process(l.trace)
	return l, nil
}

// process returns the arrival process of a configuration, nil in a closed loop.
func (c *Config) process(t *Trace) process {
	rate, factor := c.Rate*float64(c.Factor), float64(c.Factor)
	switch c.Kind {
	case Azure2019:
		return &traceProcess{t, factor, c.Placement}
	case Calibrated:
		return calibrate(t, c.Smooth, c.Length, factor, c.Placement)
	case Poisson:
		return &poissonProcess{rate, c.Length}
	case Bursty:
		return &burstyProcess{rate, c.Burst, c.Length}
	case Periodic:
		return &periodicProcess{rate, c.Wave, c.Length}
	}
	return nil
}

// openTrace reads the trace, if there is one, then filters and cuts it as configured.
func (c *Config) openTrace() (*Trace, error) {
	if c.Kind != Azure2019 && c.Kind != Calibrated {
		return nil, nil //nolint:nilnil // a process needs no trace
	}
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
	return t.Cut(c.Minutes)
}

// part splits a trace as configured.
func (c *Config) part(t *Trace) (*Trace, error) {
	if t == nil || c.Split == "all" {
		return t, nil
	}
	train, test, err := t.Split(c.TrainFraction)
	if c.Split == "test" {
		return test, err
	}
	return train, err
}

// checkPeak refuses a factor that gives more arrivals in a minute than are allowed.
func (c *Config) checkPeak(t *Trace) error {
	if t == nil {
		return nil
	}
	for i := range t.Functions {
		for m, n := range t.Functions[i].Counts {
			if float64(n)*float64(c.Factor)*c.Draw.high() > maxPerMinute/2 { // half, since a calibrated minute may exceed the trace's busiest
				return wrong("factor", c.Factor, fmt.Sprintf("one that gives at most %d arrivals a minute; minute %d of "+
					"%.12s has %d invocations", maxPerMinute/2, m, t.Functions[i].Name, n))
			}
		}
	}
	return nil
}

// hash computes the fingerprint of all that the draws depend on. Saved states of a source with another one are refused.
func (s *Source) hash() {
	h := fnv.New64a()
	for i := range s.loads {
		s.loads[i].describe(h, s.Streams())
	}
	if f := s.config.Draw.Factor; len(f) > 0 {
		fmt.Fprintf(h, " factor %v", f)
	}
	s.fingerprint = h.Sum64()
}

// describe writes all of a load that the draws depend on.
func (l *load) describe(h io.Writer, streams int) {
	c := &l.config
	fmt.Fprintf(h, "%q %q %d %v %v %v %x %x %d %d", c.Kind, c.Placement, c.Smooth, c.Burst, c.Wave, c.Users,
		math.Float64bits(float64(c.Factor)), math.Float64bits(c.Rate), l.minutes(), streams)
	if l.trace == nil {
		return
	}
	for i := range l.trace.Functions {
		f := &l.trace.Functions[i]
		var weighted uint64
		for m, n := range f.Counts {
			weighted += uint64(n) * uint64(2*m+1)
		}
		fmt.Fprintf(h, " %q %d", f.Name, weighted)
	}
}

// Config returns the configuration that the source was opened with, and the factor that follows where there is one
// load; for several see [Source.Loads].
func (s *Source) Config() Config { return s.config }

// Trace returns the source's trace, filtered and cut as configured, or nil if it has none or draws one of several. Its
// functions are the source's streams.
func (s *Source) Trace() *Trace {
	if len(s.loads) > 1 {
		return nil
	}
	return s.loads[0].trace
}

// Closed reports whether the source has closed-loop users. Then use Users, else Arrivals.
func (s *Source) Closed() bool { return s.config.Kind == ClosedLoop }

// Streams returns the number of arrival streams: functions of the trace, or 1. In a closed loop it is 0.
func (s *Source) Streams() int {
	if s.Closed() {
		return 0
	}
	return s.loads[0].process.streams()
}

// Minutes returns the length of the workload, of the shortest load where episodes draw one of several. In a closed
// loop, which has no end, it is 0.
func (s *Source) Minutes() int {
	n := s.loads[0].minutes()
	for i := range s.loads {
		n = min(n, s.loads[i].minutes())
	}
	return n
}

// Expected returns the mean number of arrivals of a stream in a minute of the workload, over all seeds. It is 0 outside
// the workload. [Arrivals.Expected] is that of the load that an episode has drawn.
func (s *Source) Expected(stream, minute int) float64 {
	if stream < 0 || stream >= s.Streams() || minute < 0 || minute >= s.Minutes() {
		return 0
	}
	var sum float64
	for i := range s.loads {
		sum += s.loads[i].process.expected(stream, minute)
	}
	if !s.config.Draw.On() {
		return sum
	}
	return sum / float64(len(s.loads)) * s.config.Draw.mean()
}

// Arrivals returns an iterator at the start of the workload. It fails in a closed loop.
func (s *Source) Arrivals(seed uint64) (Arrivals, error) {
	if s.Closed() {
		return nil, fmt.Errorf("workload: kind %s is a closed loop and has no arrivals: use Users", s.config.Kind)
	}
	return newCursor(s, seed), nil
}

// Users returns the closed-loop users. It fails in an open loop.
func (s *Source) Users(seed uint64) (Users, error) {
	if !s.Closed() {
		return Users{}, fmt.Errorf("workload: kind %s is an open loop and has no users: use Arrivals", s.config.Kind)
	}
	return Users{config: s.config.Users, think: rng.New(seed, "workload/think")}, nil
}

// maxStreams is the most streams that Copies accepts.
const maxStreams = 1 << 24

// Copies returns a source of n streams, a larger load of the same shape: stream i has the arrival process of this
// source's stream i mod Streams(), with independent draws. The first Streams() streams equal this source's, arrival by
// arrival. The copies share the data of the processes: only the arrivals of one minute take more memory as n grows.
func (s *Source) Copies(n int) (*Source, error) {
	if s.Closed() {
		return nil, fmt.Errorf("workload: kind %s has no streams to copy, want an open-loop kind", s.config.Kind)
	}
	if n < 1 || n > maxStreams {
		return nil, fmt.Errorf("workload: Copies is asked for %d streams, want 1 to %d", n, maxStreams)
	}
	return s.changed(fmt.Sprintf("copies %x %d", s.fingerprint, n), func(p process) process { return &copiedProcess{p, n} }), nil
}

// copiedProcess has n streams whose processes repeat those of process.
type copiedProcess struct {
	process
	n int
}

func (p *copiedProcess) streams() int { return p.n }

func (p *copiedProcess) expected(stream, minute int) float64 {
	return p.process.expected(stream%p.process.streams(), minute)
}

func (p *copiedProcess) draw(dst []int32, k rng.Key, stream, minute int, scale float64) []int32 {
	own := p.process.streams()
	if c := stream / own; c > 0 {
		k = k.With(1 << 41).With(uint64(c)) // greater than every stream's number
	}
	return p.process.draw(dst, k, stream%own, minute, scale)
}

// Repeat returns a source of so many minutes: those of this source, which follow one another again and again. The first
// time the arrivals are those of this source; every later time has independent draws.
func (s *Source) Repeat(minutes int) (*Source, error) {
	if s.Closed() {
		return nil, fmt.Errorf("workload: kind %s has no minutes to repeat, want an open-loop kind", s.config.Kind)
	}
	if minutes < 1 {
		return nil, fmt.Errorf("workload: Repeat is asked for %d minutes, want at least 1", minutes)
	}
	return s.changed(fmt.Sprintf("repeat %x %d", s.fingerprint, minutes), func(p process) process {
		return &repeatedProcess{p, minutes}
	}), nil
}

// changed is the source with other processes. as tells it from others.
func (s *Source) changed(as string, f func(process) process) *Source {
	c := *s
	c.loads = slices.Clone(s.loads)
	for i := range c.loads {
		c.loads[i].process = f(c.loads[i].process)
	}
	h := fnv.New64a()
	h.Write([]byte(as))
	c.fingerprint = h.Sum64()
	return &c
}

// repeatedProcess has n minutes, which repeat those of process.
type repeatedProcess struct {
	process
	n int
}

func (p *repeatedProcess) minutes() int { return p.n }

func (p *repeatedProcess) expected(stream, minute int) float64 {
	return p.process.expected(stream, minute%p.process.minutes())
}

func (p *repeatedProcess) draw(dst []int32, k rng.Key, stream, minute int, scale float64) []int32 {
	own := p.process.minutes()
	if c := minute / own; c > 0 {
		k = k.With(1 << 42).With(uint64(c)) // other than every stream's number and the keys of copies
	}
	return p.process.draw(dst, k, stream, minute%own, scale)
}
