package workload

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// cursor iterates over the arrivals of a process, minute by minute. Its position is its whole state: the arrivals of
// the current minute are drawn again from it.
type cursor struct {
	source *Source
	position

	// The current minute's arrivals in the order of the draws, stream by stream: the microsecond within the minute, and
	// which arrival it is. order sorts them by time. Each of its entries holds the microsecond in the bits from orderBits
	// up and the index into offsets in the bits below, so that equal times keep the order of the draws.
	offsets []int32
	ids     []arrivalID
	order   []uint64
	sorter  *sorter // allocated by the first minute that is not drawn in order of time
}

// position says which arrival a cursor returns next.
type position struct {
	seed   uint64 // of the arrivals
	key    rng.Key
	minute int // the current minute
	at     int // index into order of the next arrival
	// drawer is the seed of what is drawn of the load; it differs from seed after Resample.
	drawer uint64
	drawn  Drawn
	// history, where set, is where the arrivals after minute since come from: those of minute since + n are those of its
	// minute as + n. See Continue.
	history   *History
	since, as int
}

// arrivalID names an arrival within its minute.
type arrivalID struct{ stream, number int32 }

// orderBits is the number of low bits of an entry of order that hold the index.
const orderBits = 38

func newCursor(s *Source, seed uint64) *cursor {
	c := &cursor{source: s}
	c.Reset(seed)
	return c
}

func (c *cursor) Reset(seed uint64) {
	c.begin(seed, seed)
	c.load(0)
}

func (c *cursor) Resample(seed uint64) {
	c.begin(seed, c.drawer)
	c.load(c.minute)
}

func (c *cursor) Continue(history *History, seed uint64, now int64) {
	c.begin(seed, c.drawer)
	c.since = int((now+Minute-1)/Minute) - 1
	h, k := &history.loads[c.drawn.Load], rng.New(seed, "workload/history")
	if c.since < 0 { // nothing is known
		c.as = int(k.Float64() * float64(len(h.rates)))
	} else {
		c.as = h.like(c.process(), min(c.since, c.drawn.Minutes-1), k)
	}
	c.history = history
	c.load(c.minute)
}

// origin of a minute's arrivals: the process, and the minute of it.
func (c *cursor) origin(minute int) (process, int) {
	if c.history == nil || minute <= c.since {
		return c.process(), minute
	}
	p := c.history.loads[c.drawn.Load].process
	return p, (c.as + minute - c.since) % p.minutes()
}

// begin sets the seeds of the arrivals and of what is drawn of the load.
func (c *cursor) begin(seed, drawer uint64) {
	c.history = nil
	c.seed, c.key = seed, rng.New(seed, "workload/arrivals")
	c.drawer, c.drawn = drawer, c.source.Drawn(drawer)
}

func (c *cursor) Drawn() Drawn { return c.drawn }

func (c *cursor) Expected(stream, minute int) float64 {
	if p := c.process(); stream < 0 || stream >= p.streams() || minute < 0 || minute >= p.minutes() {
		return 0
	}
	p, minute := c.origin(minute)
	return p.expected(stream, minute) * c.drawn.Factor
}

// process is that of the load drawn.
func (c *cursor) process() process { return c.source.loads[c.drawn.Load].process }

// load draws the arrivals of a minute. After the last minute there are none.
func (c *cursor) load(minute int) {
	c.minute, c.at = min(minute, c.process().minutes()), 0
	c.offsets, c.ids, c.order = c.offsets[:0], c.ids[:0], c.order[:0]
	if c.minute >= c.process().minutes() {
		return
	}
	p, m := c.origin(c.minute)
	for s := range p.streams() {
		from := len(c.offsets)
		c.offsets = p.draw(c.offsets, c.key, s, m, c.drawn.Factor)
		for i := range c.offsets[from:] {
			c.ids = append(c.ids, arrivalID{int32(s), int32(i)})
		}
	}
	sorted := true
	for i, t := range c.offsets {
		sorted = sorted && (i == 0 || c.offsets[i-1] <= t)
		c.order = append(c.order, uint64(t)<<orderBits|uint64(i))
	}
	if !sorted {
		if c.sorter == nil {
			c.sorter = new(sorter)
		}
		c.order = c.sorter.sort(c.order)
	}
}

func (c *cursor) Next() (Arrival, bool) {
	for c.at == len(c.order) {
		if c.minute >= c.drawn.Minutes {
			return Arrival{}, false
		}
		c.load(c.minute + 1)
	}
	o := c.order[c.at]
	c.at++
	id := c.ids[o&(1<<orderBits-1)]
	return Arrival{Time: int64(c.minute)*Minute + int64(o>>orderBits), Stream: id.stream, Number: id.number}, true
}

func (c *cursor) SeekTo(t int64) {
	t = max(t, 0)
	minute := t / Minute
	if last := int64(c.drawn.Minutes); minute > last {
		minute = last
	}
	if int(minute) != c.minute {
		c.load(int(minute))
	}
	c.at, _ = slices.BinarySearch(c.order, uint64(t-minute*Minute)<<orderBits)
}

// kind is the name of a saved iterator in the state codec.
const kind = "arrivals"

func (c *cursor) CopyFrom(src Arrivals) error {
	o, ok := src.(*cursor)
	if !ok {
		return fmt.Errorf("workload: arrivals are copied from a %T, want the arrivals of an equal source", src)
	}
	return state.Copy(c, o)
}

func (c *cursor) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, kind, c) }

func (c *cursor) UnmarshalBinary(b []byte) error { return state.Load(b, kind, c) }

// State implements [state.Stater]. Loading draws the arrivals of the current minute again.
func (c *cursor) State(k *state.Codec) {
	k.Same("source", c.source.fingerprint)
	if !k.Stored() {
		state.Value(k, &c.position)
		state.Slice(k, &c.offsets)
		state.Slice(k, &c.ids)
		state.Slice(k, &c.order)
		return
	}
	if c.history != nil && !k.Loaded() {
		k.Fail(errors.New("arrivals that a history continues are not saved"))
		return
	}
	seed, minute, at, drawer := c.seed, c.minute, c.at, c.drawer
	state.Value(k, &seed)
	state.Value(k, &minute)
	state.Value(k, &at)
	if c.source.config.Draw.On() { // elsewhere nothing is drawn of the load
		state.Value(k, &drawer)
	}
	last := c.source.Drawn(drawer).Minutes
	if k.Check(minute >= 0 && minute <= last, "minute %d, want 0 to %d", minute, last) && k.Loaded() {
		c.begin(seed, drawer)
		c.load(minute)
		k.Check(at >= 0 && at <= len(c.order), "arrival %d of minute %d, which has %d", at, minute, len(c.order))
		c.at = at
	}
}

// sorter sorts the arrivals of a minute by time. It reuses its buffers.
type sorter struct {
	spare []uint64
	count [2][radix]int32
}

const (
	// Radix sort: the microseconds of a minute have 26 bits, two digits of 13 bits.
	digitBits = 13
	radix     = 1 << digitBits
	// minRadix is the number of arrivals from which a radix sort is faster than slices.Sort.
	minRadix = 1500
)

// sort sorts order, whose low orderBits are ascending, and returns the sorted slice; the other slice becomes the spare.
// The radix sort on the bits of the time alone is stable: its result equals that of slices.Sort on the whole numbers.
func (s *sorter) sort(order []uint64) []uint64 {
	if len(order) < minRadix {
		slices.Sort(order)
		return order
	}
	if cap(s.spare) < len(order) {
		s.spare = make([]uint64, cap(order))
	}
	clear(s.count[0][:])
	clear(s.count[1][:])
	for _, x := range order {
		t := x >> orderBits
		s.count[0][t%radix]++
		s.count[1][t>>digitBits%radix]++
	}
	for digit := range s.count {
		at, shift := &s.count[digit], orderBits+digit*digitBits
		var before int32
		for i, n := range at {
			at[i] = before
			before += n
		}
		to := s.spare[:len(order)]
		for _, x := range order {
			d := x >> shift % radix
			to[at[d]] = x
			at[d]++
		}
		s.spare, order = order, to
	}
	return order
}

// Users are closed-loop users: each waits for a response and thinks before the next request. Users has no state:
// request k of a user begins some time after the response to request k-1, and only the simulator knows that time.
type Users struct {
	config UsersConfig
	think  rng.Key
}

// Constant is a distribution of think time, as [UsersConfig.ThinkLaw] names it. The others are [Uniform] and
// [Exponential].
const Constant = "constant"

// Count returns the number of users.
func (u Users) Count() int { return u.config.Count }

// Spawn returns when a user joins, in microseconds from the start. Users join as in Locust since 2.0 (UsersDispatcher
// in dispatch.py): in groups as large as the integer part of the spawn rate, the first at time 0, at intervals that
// give the rate. Ten users at a rate of 10 per second join together; at a rate below 2 per second users join one by
// one.
func (u Users) Spawn(user int) int64 {
	batch := max(1, math.Floor(u.config.SpawnRate))
	return int64(float64(math.Floor(float64(user)/batch)*batch) / u.config.SpawnRate * float64(Second))
}

// Think returns the microseconds between the response to a user's request k-1 and that user's request k. It is a
// function of (seed, user, request) alone. Request 0 begins when the user joins.
func (u Users) Think(user int, request uint64) int64 {
	mean := u.config.Think * float64(Second)
	if mean == 0 || request == 0 {
		return 0
	}
	k := u.think.With(uint64(user)).With(request)
	switch u.config.ThinkLaw {
	case Uniform:
		mean = float64(mean*k.Float64()) * 2
	case Exponential:
		mean *= k.Exp()
	}
	return int64(mean)
}

// History draws how a load could go on, for a planner that does not know the coming minutes: as the minutes went on that
// were most like the last two. It draws them from what a policy can have learned: from the training part of a trace where
// the source is its test part, from the minutes that have passed where the source is a whole trace (from all of it as long as
// too few have), and from any minute of a random process. Such analogues are the forecast of Lorenz (1969,
// Atmospheric Predictability as Revealed by Naturally Occurring Analogues).
type History struct {
	loads []past
}

// past is the minutes of a load.
type past struct {
	process
	rates []float64 // expected arrivals a second by minute, at a drawn factor of 1
	same  bool      // they are the minutes of the episode's own trace
}

// analogues is the number of minutes of the past among which a continuation is drawn.
const analogues = 25

// gap is how many minutes a minute of the episode's own trace lies back at least: so many that follow it have passed.
const gap = 5

// History reads the source's history. It fails in a closed loop, and where a trace cannot be read again.
func (s *Source) History() (*History, error) {
	if _, err := s.Arrivals(0); err != nil {
		return nil, err
	}
	h := &History{}
	for i := range s.loads {
		l := s.loads[i]
		same := l.trace != nil
		if l.config.Split == "test" && l.trace != nil {
			c := l.config
			c.Split, same = "train", false
			var err error
			if l, err = c.open(nil); err != nil {
				return nil, err
			}
			if copied, ok := s.loads[i].process.(*copiedProcess); ok {
				l.process = &copiedProcess{l.process, copied.n}
			}
		}
		h.loads = append(h.loads, past{l.process, rates(l.process), same})
	}
	return h, nil
}

// rates are the expected arrivals a second by minute.
func rates(p process) []float64 {
	out := make([]float64, p.minutes())
	for m := range out {
		out[m] = rateAt(p, m)
	}
	return out
}

// like draws one of the minutes that are most like a minute of p: by the logarithms of the rates in it and in the one
// before.
func (h *past) like(p process, minute int, k rng.Key) int {
	level := func(rate float64) float64 { return math.Log1p(60 * rate) } // a minute's arrivals: none is no infinity
	now, before := level(rateAt(p, minute)), level(rateAt(p, max(minute-1, 0)))
	type candidate struct {
		minute int
		off    float64
	}
	last := max(len(h.rates)-1, 1)
	if h.same && minute-gap >= analogues {
		last = minute - gap
	}
	all := make([]candidate, 0, last)
	for m, r := range h.rates[:last] {
		a, b := level(r)-now, level(h.rates[max(m-1, 0)])-before
		all = append(all, candidate{m, float64(a*a) + float64(b*b)})
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.off, b.off) })
	n := min(analogues, len(all))
	return all[min(int(k.Float64()*float64(n)), n-1)].minute
}
