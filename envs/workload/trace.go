package workload

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"slices"
	"strings"
)

// Trace holds the invocations per minute of a set of functions, with their durations and memory where known. It never
// changes; cuts and selections share its data.
type Trace struct {
	// Name says where the trace comes from: the folder, or the embedded sample.
	Name string
	// Minutes is the number of minutes.
	Minutes int
	// Functions in the order of the files.
	Functions []Function
	// Report lists what is missing and what the reader corrected.
	Report Report
}

// Function is one function of a trace.
type Function struct {
	// Owner, App and Name are the publisher's hashes. Trigger is empty in In-Vitro's samples.
	Owner, App, Name, Trigger string
	// Counts holds the invocations of each minute.
	Counts []uint32
	// Duration of an execution in milliseconds, without cold starts. Samples is 0 if it is not known.
	Duration Duration
	// Memory allocated by the function's application, in MB. Samples is 0 if it is not known.
	Memory Memory
}

// Total returns the function's invocations.
func (f *Function) Total() uint64 {
	var n uint64
	for _, c := range f.Counts {
		n += uint64(c)
	}
	return n
}

// Duration summarises a function's execution times in milliseconds. The percentiles are of averages over 30 s, weighted
// by invocations, not of single executions (publisher's note 7).
type Duration struct {
	Samples                          uint64
	Average, Minimum, Maximum        float64
	P0, P1, P25, P50, P75, P99, P100 float64
}

// Memory summarises an application's allocated memory in MB, averaged by the minute.
type Memory struct {
	Samples                               uint64
	Average                               float64
	P1, P5, P25, P50, P75, P95, P99, P100 float64
}

// Total returns the number of invocations.
func (t *Trace) Total() uint64 {
	var n uint64
	for i := range t.Functions {
		n += t.Functions[i].Total()
	}
	return n
}

// PerMinute appends the number of invocations of all functions together in each minute.
func (t *Trace) PerMinute(dst []uint64) []uint64 {
	from := len(dst)
	dst = append(dst, make([]uint64, t.Minutes)...)
	for i := range t.Functions {
		for m, c := range t.Functions[i].Counts {
			dst[from+m] += uint64(c)
		}
	}
	return dst
}

// Cut returns the minutes from r.From to r.To, the latter excluded. The zero range means all minutes.
func (t *Trace) Cut(r Range) (*Trace, error) {
	if r == (Range{}) {
		return t, nil
	}
	if r.From < 0 || r.To <= r.From || r.To > t.Minutes {
		return nil, fmt.Errorf("workload: minutes %d to %d of %s, want a range within 0 to %d", r.From, r.To, t.Name,
			t.Minutes)
	}
	c := *t
	c.Minutes = r.To - r.From
	c.Functions = slices.Clone(t.Functions)
	for i := range c.Functions {
		f := &c.Functions[i]
		f.Counts = f.Counts[r.From:r.To:r.To]
	}
	return &c, nil
}

// Split cuts the trace in two by time: the first minutes, a fraction train of all, and the rest. Both parts have at
// least one minute.
func (t *Trace) Split(train float64) (first, rest *Trace, err error) {
	if !(train > 0 && train < 1) {
		return nil, nil, fmt.Errorf("workload: the fraction of training minutes is %v, want it in (0, 1)", train)
	}
	if t.Minutes < 2 {
		return nil, nil, fmt.Errorf("workload: %s has %d minutes, want at least 2 to split", t.Name, t.Minutes)
	}
	at := min(max(int(math.Round(train*float64(t.Minutes))), 1), t.Minutes-1)
	if first, err = t.Cut(Range{0, at}); err != nil {
		return nil, nil, err
	}
	rest, err = t.Cut(Range{at, t.Minutes})
	return first, rest, err
}

// Select returns the functions that a filter selects, in the trace's order.
func (t *Trace) Select(f Filter) (*Trace, error) {
	s := *t
	s.Functions = nil
	for i := range t.Functions {
		if fn := &t.Functions[i]; f.matches(fn.Name, fn.Trigger) {
			s.Functions = append(s.Functions, *fn)
		}
	}
	if f.Top > 0 && len(s.Functions) > f.Top {
		totals := make([]uint64, len(s.Functions))
		for i := range totals {
			totals[i] = s.Functions[i].Total()
		}
		top := make([]Function, 0, f.Top)
		for _, i := range topOf(totals, f.Top) {
			top = append(top, s.Functions[i])
		}
		s.Functions = top
	}
	if len(s.Functions) == 0 {
		return nil, wrong("functions", f.String(),
			fmt.Sprintf("a filter that keeps some of the %d functions of %s", len(t.Functions), t.Name))
	}
	return &s, nil
}

// Sum returns a trace of one function, the sum of all functions.
func (t *Trace) Sum() (*Trace, error) {
	sum := *t
	counts := make([]uint32, t.Minutes)
	for m, n := range t.PerMinute(nil) {
		if n > math.MaxUint32 {
			return nil, fmt.Errorf("workload: %s has %d invocations in minute %d, want at most %d", t.Name, n, m,
				uint32(math.MaxUint32))
		}
		counts[m] = uint32(n)
	}
	sum.Functions = []Function{{Name: "total", Counts: counts}}
	return &sum, nil
}

// matches reports whether a function has one of the filter's names and triggers.
func (f Filter) matches(name, trigger string) bool {
	if len(f.Names) > 0 && !slices.ContainsFunc(f.Names, func(p string) bool { return strings.HasPrefix(name, p) }) {
		return false
	}
	return len(f.Triggers) == 0 || slices.Contains(f.Triggers, trigger)
}

func (f Filter) String() string {
	var parts []string
	if len(f.Names) > 0 {
		parts = append(parts, "names "+strings.Join(f.Names, ", "))
	}
	if len(f.Triggers) > 0 {
		parts = append(parts, "triggers "+strings.Join(f.Triggers, ", "))
	}
	if f.Top > 0 {
		parts = append(parts, fmt.Sprintf("top %d", f.Top))
	}
	return strings.Join(parts, "; ")
}

// topOf returns the indices of the n largest totals, ascending. Of equal totals it takes the first.
func topOf(totals []uint64, n int) []int {
	at := make([]int, len(totals))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(totals[b], totals[a]) })
	at = at[:min(n, len(at))]
	slices.Sort(at)
	return at
}

// TraceDigest is the SHA-256, in hexadecimal digits, of the traces that c reads: functions, invocations per minute,
// durations and memory, after functions and minutes are selected and before the split. It does not depend on where the
// files lie. It is empty where c reads no trace.
func TraceDigest(c Config) (string, error) {
	all := []*Config{&c}
	if n := len(c.Draw.Traces); n > 0 {
		all = all[:0]
		for i := range n {
			all = append(all, c.choose(i))
		}
	}
	h, some := sha256.New(), false
	for i, l := range all {
		t, err := l.openTrace()
		if err != nil {
			return "", err
		}
		if t == nil {
			continue
		}
		some = true
		fmt.Fprintf(h, "%d %d %d\n", i, t.Minutes, len(t.Functions))
		for j := range t.Functions {
			t.Functions[j].write(h)
		}
	}
	if !some {
		return "", nil
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// write writes a function's content into a hash, whose Write never fails.
func (f *Function) write(h hash.Hash) {
	d, m := &f.Duration, &f.Memory
	fmt.Fprintf(h, "%q %q %q %q %d %d\n", f.Owner, f.App, f.Name, f.Trigger, d.Samples, m.Samples)
	var b []byte
	for _, n := range f.Counts {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	for _, x := range []float64{d.Average, d.Minimum, d.Maximum, d.P0, d.P1, d.P25, d.P50, d.P75, d.P99, d.P100,
		m.Average, m.P1, m.P5, m.P25, m.P50, m.P75, m.P95, m.P99, m.P100} {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	_, _ = h.Write(b)
}

// add merges the statistics of another day.
func (d *Duration) add(o Duration) {
	if o.Samples == 0 {
		return
	}
	if d.Samples == 0 {
		*d = o
		return
	}
	d.Minimum, d.Maximum = min(d.Minimum, o.Minimum), max(d.Maximum, o.Maximum)
	mix(d.Samples, o.Samples, []*float64{&d.Average, &d.P0, &d.P1, &d.P25, &d.P50, &d.P75, &d.P99, &d.P100},
		[]float64{o.Average, o.P0, o.P1, o.P25, o.P50, o.P75, o.P99, o.P100})
	d.Samples += o.Samples
}

// add merges the statistics of another day.
func (m *Memory) add(o Memory) {
	if o.Samples == 0 {
		return
	}
	if m.Samples == 0 {
		*m = o
		return
	}
	mix(m.Samples, o.Samples, []*float64{&m.Average, &m.P1, &m.P5, &m.P25, &m.P50, &m.P75, &m.P95, &m.P99, &m.P100},
		[]float64{o.Average, o.P1, o.P5, o.P25, o.P50, o.P75, o.P95, o.P99, o.P100})
	m.Samples += o.Samples
}

// mix averages the values of to and from, weighted by a and b samples, into to.
func mix(a, b uint64, to []*float64, from []float64) {
	share := float64(b) / (float64(a) + float64(b))
	for i, x := range to {
		*x += float64(share * (from[i] - *x))
	}
}
