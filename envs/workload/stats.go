package workload

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Stats describes a series of counts per minute.
type Stats struct {
	Minutes int     `json:"minutes"`
	Total   uint64  `json:"total"`
	Mean    float64 `json:"mean"`
	Peak    uint64  `json:"peak"`
	// Idle is the share of minutes without invocations.
	Idle float64 `json:"idle"`
	// CV is the coefficient of variation: standard deviation divided by mean.
	CV float64 `json:"cv"`
	// Dispersion is the index of dispersion of counts, variance divided by mean, in windows of 1, 10 and 60 minutes. It is
	// 1 for a Poisson process at every width; if bursts last for several minutes it grows with the width.
	Dispersion   float64 `json:"dispersion"`
	Dispersion10 float64 `json:"dispersion_10"`
	Dispersion60 float64 `json:"dispersion_60"`
	// Lag1 is the correlation of each minute with the next one.
	Lag1 float64 `json:"lag1"`
}

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

// Describe returns the statistics of counts per minute. A statistic is 0 if the series is too short or has too few
// invocations for it.
func Describe(counts []uint64) Stats {
	s := Stats{Minutes: len(counts)}
	if s.Minutes == 0 {
		return s
	}
	idle := 0
	for _, c := range counts {
		s.Total += c
		s.Peak = max(s.Peak, c)
		if c == 0 {
			idle++
		}
	}
	n := float64(s.Minutes)
	s.Mean, s.Idle = float64(s.Total)/n, float64(idle)/n
	variance, next := 0.0, 0.0
	for m, c := range counts {
		d := float64(c) - s.Mean
		variance += float64(d * d)
		if m > 0 {
			next += float64(d * (float64(counts[m-1]) - s.Mean))
		}
	}
	if variance > 0 {
		s.Lag1 = next / variance
		s.CV = math.Sqrt(variance/n) / s.Mean
	}
	s.Dispersion = Dispersion(counts, 1)
	s.Dispersion10 = Dispersion(counts, 10)
	s.Dispersion60 = Dispersion(counts, 60)
	return s
}

// Dispersion returns the variance of the counts in whole windows of some minutes, divided by their mean.
func Dispersion(counts []uint64, width int) float64 {
	n := len(counts) / width
	var mean, m2 float64 // Welford's recurrence
	for i := range n {
		var x float64
		for _, c := range counts[i*width:][:width] {
			x += float64(c)
		}
		d := x - mean
		mean += d / float64(i+1)
		m2 += float64(d * (x - mean))
	}
	if mean == 0 {
		return 0
	}
	return m2 / float64(n) / mean
}

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

// Stretch is a part of a trace with a calm, a swinging and a bursting third.
type Stretch struct {
	// From is its first minute, Minutes its length.
	From    int `json:"from"`
	Minutes int `json:"minutes"`
	// Ends are the minutes at which the calm and the swinging third end; the bursting one goes on to the end.
	Ends [2]int `json:"ends"`
	// Variation is the coefficient of variation of each third's counts, Peak its largest count over its median.
	Variation [3]float64 `json:"variation"`
	Peak      [3]float64 `json:"peak"`
	// Low, Middle and High are the minutes with the fewest, the median and the most invocations; of several the first.
	Low    int `json:"low"`
	Middle int `json:"middle"`
	High   int `json:"high"`
}

// burstPeak is the largest count over the median from which on a third has a burst.
const burstPeak = 2

// Stretch finds the stretch of so many minutes whose thirds are most clearly calm, swinging and bursting, in this order,
// as in Fig. 7 of FaaSConf: the last third alone has a minute with at least twice its median, and the smaller of the two
// ratios of variation, swinging over calm and bursting over swinging, is the largest there is. Counts are of all
// functions together. It fails where no stretch is of the kind.
func (t *Trace) Stretch(minutes int) (Stretch, error) { return FindStretch(t.PerMinute(nil), minutes) }

// FindStretch is [Trace.Stretch] for the counts of all minutes.
func FindStretch(counts []uint64, minutes int) (Stretch, error) {
	if minutes < 9 || minutes > len(counts) {
		return Stretch{}, fmt.Errorf("a stretch of %d minutes, want 9 to the %d there are", minutes, len(counts))
	}
	best, score := Stretch{}, 1.0
	for from := range len(counts) - minutes + 1 {
		s := describeStretch(counts, from, minutes)
		bursts := s.Peak[0] < burstPeak && s.Peak[1] < burstPeak && s.Peak[2] >= burstPeak
		if x := min(s.Variation[1]/s.Variation[0], s.Variation[2]/s.Variation[1]); bursts && x > score {
			best, score = s, x
		}
	}
	if best.Minutes == 0 {
		return best, fmt.Errorf("no %d of the %d minutes have a calm, a swinging and a bursting third", minutes, len(counts))
	}
	return best, nil
}

func describeStretch(counts []uint64, from, minutes int) Stretch {
	third := minutes / 3
	s := Stretch{From: from, Minutes: minutes, Ends: [2]int{from + third, from + 2*third}}
	bounds := [...]int{from, s.Ends[0], s.Ends[1], from + minutes}
	for i := range 3 {
		s.Variation[i], s.Peak[i] = variation(counts[bounds[i]:bounds[i+1]])
	}
	order := make([]int, minutes)
	for i := range order {
		order[i] = from + i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(counts[a], counts[b]) })
	first := func(m int) int { return from + slices.Index(counts[from:from+minutes], counts[m]) }
	s.Low, s.Middle, s.High = first(order[0]), first(order[(minutes-1)/2]), first(order[minutes-1])
	return s
}

// variation is the standard deviation of counts over their mean, and the largest over the median; infinite where the
// median or the mean is 0.
func variation(counts []uint64) (cv, peak float64) {
	sorted := slices.Sorted(slices.Values(counts))
	var sum, square float64
	for _, c := range counts {
		sum += float64(c)
	}
	mean := sum / float64(len(counts))
	for _, c := range counts {
		d := float64(c) - mean
		square += float64(d * d)
	}
	return math.Sqrt(square/float64(len(counts))) / mean, float64(sorted[len(sorted)-1]) / float64(sorted[(len(sorted)-1)/2])
}

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
