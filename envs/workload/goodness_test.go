package workload

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Stats describes the function's invocations.
func (f *Function) Stats() Stats {
	counts := make([]uint64, len(f.Counts))
	for m, c := range f.Counts {
		counts[m] = uint64(c)
	}
	return Describe(counts)
}

// Stats describes the invocations of all functions together.
func (t *Trace) Stats() Stats { return Describe(t.PerMinute(nil)) }

// String returns the statistics in one line.
func (s Stats) String() string {
	return fmt.Sprintf("%d in %d minutes: mean %.2f, peak %d, idle %.0f %%, CV %.2f, dispersion %.1f (1 min) "+
		"%.1f (10) %.1f (60), lag-1 %.2f",
		s.Total, s.Minutes, s.Mean, s.Peak, 100*s.Idle, s.CV, s.Dispersion, s.Dispersion10, s.Dispersion60, s.Lag1)
}

// KS returns the two-sample Kolmogorov-Smirnov distance: the largest difference between the two empirical distribution
// functions. It sorts both samples. If one sample is empty it is 1, if both are it is 0.
func KS(a, b []float64) float64 {
	if len(a) == 0 || len(b) == 0 {
		if len(a) == len(b) {
			return 0
		}
		return 1
	}
	slices.Sort(a)
	slices.Sort(b)
	var i, j int
	var d float64
	for i < len(a) && j < len(b) {
		x := min(a[i], b[j])
		for i < len(a) && a[i] == x {
			i++
		}
		for j < len(b) && b[j] == x {
			j++
		}
		d = max(d, math.Abs(float64(i)/float64(len(a))-float64(j)/float64(len(b))))
	}
	return d
}

// Stretch finds the stretch of so many minutes whose thirds are most clearly calm, swinging and bursting, in this order,
// as in Fig. 7 of FaaSConf: the last third alone has a minute with at least twice its median, and the smaller of the two
// ratios of variation, swinging over calm and bursting over swinging, is the largest there is. Counts are of all
// functions together. It fails where no stretch is of the kind.
func (t *Trace) Stretch(minutes int) (Stretch, error) { return FindStretch(t.PerMinute(nil), minutes) }

// Goodness compares a source's draws with the trace that the source was made from.
type Goodness struct {
	// Trace is the trace's name, Kind the source's kind and Seed the seed of the draws.
	Trace string `json:"trace"`
	Kind  string `json:"kind"`
	Seed  uint64 `json:"seed"`
	// Total compares the sum of all streams, Streams each stream.
	Total   Comparison   `json:"total"`
	Streams []Comparison `json:"streams"`
}

// Comparison compares draws with a trace.
type Comparison struct {
	// Name is the function's, or "total".
	Name string `json:"name"`
	// Trace and Drawn describe the counts per minute: the trace's, multiplied by the source's factor, and the drawn ones.
	Trace Stats `json:"trace"`
	Drawn Stats `json:"drawn"`
	// KSCounts is the Kolmogorov-Smirnov distance between the two distributions of counts per minute.
	KSCounts float64 `json:"ks_counts"`
	// KSGaps is the distance between the distributions of interarrival times, over at most the first maxGaps of each. A
	// trace has no times within the minute; its arrivals are placed there as the source places them.
	KSGaps float64 `json:"ks_gaps"`
}

// maxGaps is the most interarrival times that are compared.
const maxGaps = 1 << 18

// tally collects the counts per minute and the interarrival times of one stream.
type tally struct {
	counts []uint64
	gaps   []float64
	last   int64
	begun  bool
}

func (t *tally) add(at int64) {
	t.counts[at/Minute]++
	if t.begun && len(t.gaps) < maxGaps {
		t.gaps = append(t.gaps, float64(at-t.last))
	}
	t.last, t.begun = at, true
}

// tallies draws all arrivals of a process and returns a tally for each stream and one for all streams together.
func tallies(p process, seed uint64) (streams []tally, total tally) {
	streams = make([]tally, p.streams())
	for i := range streams {
		streams[i].counts = make([]uint64, p.minutes())
	}
	total.counts = make([]uint64, p.minutes())
	c := newCursor(&Source{loads: []load{{process: p}}}, seed)
	for a, ok := c.Next(); ok; a, ok = c.Next() {
		streams[a.Stream].add(a.Time)
		total.add(a.Time)
	}
	return streams, total
}

// compare compares the tally of the draws with that of the trace.
func compare(name string, trace, drawn *tally) Comparison {
	floats := func(counts []uint64) []float64 {
		out := make([]float64, len(counts))
		for i, c := range counts {
			out[i] = float64(c)
		}
		return out
	}
	return Comparison{
		Name: name, Trace: Describe(trace.counts), Drawn: Describe(drawn.counts),
		KSCounts: KS(floats(trace.counts), floats(drawn.counts)), KSGaps: KS(trace.gaps, drawn.gaps),
	}
}

// Goodness draws the whole workload under a seed and compares it with the source's trace. It fails if the source has no
// trace; [CompareWith] compares any open-loop source with a trace.
func (s *Source) Goodness(seed uint64) (Goodness, error) {
	if s.Trace() == nil {
		return Goodness{}, fmt.Errorf("workload: kind %s has no trace to compare its draws with", s.config.Kind)
	}
	return CompareWith(s, s.Trace(), seed)
}

// CompareWith draws the whole of a source under a seed and compares it with a trace, whose counts are multiplied by the
// source's factor. Streams are compared one by one if there are as many of them as functions.
func CompareWith(s *Source, t *Trace, seed uint64) (Goodness, error) {
	if s.Closed() {
		return Goodness{}, fmt.Errorf("workload: kind %s is a closed loop and has no arrivals to compare with a trace",
			s.config.Kind)
	}
	g := Goodness{Trace: t.Name, Kind: s.config.Kind, Seed: seed}
	own := &traceProcess{trace: t, factor: float64(s.config.Factor), placement: s.config.Placement}
	// The trace's arrivals are placed under another seed: shared draws would make the two agree.
	traced, traceTotal := tallies(own, seed+1)
	drawn, drawnTotal := tallies(s.loads[s.Drawn(seed).Load].process, seed)
	g.Total = compare("total", &traceTotal, &drawnTotal)
	if len(traced) == len(drawn) {
		for i := range traced {
			g.Streams = append(g.Streams, compare(t.Functions[i].Name, &traced[i], &drawn[i]))
		}
	}
	return g, nil
}

// String returns a table that compares the totals, and the mean distances over the streams.
func (g Goodness) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s against %s (seed %d)\n", g.Kind, g.Trace, g.Seed)
	row := func(name string, trace, drawn float64) { fmt.Fprintf(&b, "%-24s %12.4g %12.4g\n", name, trace, drawn) }
	fmt.Fprintf(&b, "%-24s %12s %12s\n", "", "trace", "drawn")
	t, d := g.Total.Trace, g.Total.Drawn
	row("mean per minute", t.Mean, d.Mean)
	row("peak per minute", float64(t.Peak), float64(d.Peak))
	row("idle minutes", t.Idle, d.Idle)
	row("CV", t.CV, d.CV)
	row("dispersion, 1 min", t.Dispersion, d.Dispersion)
	row("dispersion, 10 min", t.Dispersion10, d.Dispersion10)
	row("dispersion, 60 min", t.Dispersion60, d.Dispersion60)
	row("lag-1 correlation", t.Lag1, d.Lag1)
	fmt.Fprintf(&b, "KS distance of counts %.4f, of times between arrivals %.4f\n", g.Total.KSCounts, g.Total.KSGaps)
	if len(g.Streams) > 1 {
		var counts, gaps float64
		for _, s := range g.Streams {
			counts += s.KSCounts
			gaps += s.KSGaps
		}
		n := float64(len(g.Streams))
		fmt.Fprintf(&b, "mean over %d streams: KS of counts %.4f, of times between arrivals %.4f\n", len(g.Streams), counts/n,
			gaps/n)
	}
	return b.String()
}
