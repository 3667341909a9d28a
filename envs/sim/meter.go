package sim

import (
	"fmt"
	"math"
	"math/bits"
)

// wide is an unsigned 128-bit sum. Sums of microseconds, their squares and their products with levels stay
// exact in it, whatever the order and however long the run.
type wide struct{ hi, lo uint64 }

func (w *wide) add(x uint64) {
	var c uint64
	w.lo, c = bits.Add64(w.lo, x, 0)
	w.hi += c
}

// addMul adds a·b.
func (w *wide) addMul(a, b uint64) {
	hi, lo := bits.Mul64(a, b)
	var c uint64
	w.lo, c = bits.Add64(w.lo, lo, 0)
	w.hi, _ = bits.Add64(w.hi, hi, c)
}

func (w *wide) addWide(o wide) {
	var c uint64
	w.lo, c = bits.Add64(w.lo, o.lo, 0)
	w.hi, _ = bits.Add64(w.hi, o.hi, c)
}

// times returns w·x, modulo 2^128.
func (w wide) times(x uint64) wide {
	hi, lo := bits.Mul64(w.lo, x)
	return wide{hi + w.hi*x, lo}
}

func (w wide) float() float64 { return float64(float64(w.hi)*0x1p64) + float64(w.lo) }

// level is a quantity that a function holds for some time; its integral over time is an area.
type level uint8

const (
	lvWaiting   level = iota // requests queued or bound to a starting instance
	lvRunning                // requests
	lvPlaced                 // instances starting, idle, busy or draining
	lvStarting               // instances
	lvReady                  // instances idle, busy or draining
	lvBusy                   // instances running something
	lvCPU                    // millicores of placed instances
	lvMemory                 // MB of placed instances
	lvGPU                    // slices of placed instances
	lvBusyCPU                // millicores of busy instances
	lvBusyMem                // MB of busy instances
	lvBusyGPU                // slices of busy instances
	lvUsedCPU                // millicores in use
	lvThrottled              // millicores wanted beyond the allocation
	levels
)

// gauge holds a function's levels and their areas (level · µs), brought up to date at every change.
type gauge struct {
	since Time
	now   [levels]int64
	area  [levels]wide
}

// touch brings the areas up to the moment now. Call it before changing a level.
func (g *gauge) touch(now Time) {
	dt := uint64(now - g.since)
	if dt == 0 {
		return
	}
	g.since = now
	for i := range g.now {
		g.area[i].addMul(uint64(g.now[i]), dt)
	}
}

// moments sums times exactly.
type moments struct {
	sum, square wide
	max         Time
}

func (m *moments) add(t Time) {
	m.sum.add(uint64(t))
	m.square.addMul(uint64(t), uint64(t))
	m.max = max(m.max, t)
}

func (m *moments) merge(o *moments) {
	m.sum.addWide(o.sum)
	m.square.addWide(o.square)
	m.max = max(m.max, o.max)
}

// Tally counts what happened in a window.
type Tally struct {
	Arrived    int64 // requests
	Started    int64 // attempts that began to run
	Waited     int64 // of these, that did not begin at the moment of arrival
	Cold       int64 // of these, that waited for the instance that took them to get ready
	Completed  int64
	Late       int64 // of these, that took longer than their SLO
	Rejected   int64
	TimedOut   int64
	Killed     int64
	ColdStarts int64 // instances placed on a node, to start cold
	Expired    int64 // instances ended by keep-alive
}

func (t *Tally) merge(o *Tally) {
	t.Arrived += o.Arrived
	t.Started += o.Started
	t.Waited += o.Waited
	t.Cold += o.Cold
	t.Completed += o.Completed
	t.Late += o.Late
	t.Rejected += o.Rejected
	t.TimedOut += o.TimedOut
	t.Killed += o.Killed
	t.ColdStarts += o.ColdStarts
	t.Expired += o.Expired
}

// Meter is what was measured over a window, of one function or of several. Read one with [Sim.Meter] or
// [Sim.Total]; it can be used again and then allocates nothing. Times are in seconds, CPU in millicores, memory in
// MB, money in USD; averages are over the window's time.
type Meter struct {
	From, To Time
	Tally

	span     Time // total time measured: To - From but for Extend
	latency  moments
	wait     moments
	area     [levels]wide
	usedMem  wide
	sketch   Sketch
	sketched bool
}

// Meter reads a function's meters, since the last ResetMeters until now, into m; a function that does not exist
// gives an empty meter.
func (s *Sim) Meter(function int, m *Meter) {
	s.clearMeter(m)
	if function >= 0 && function < len(s.fns) {
		s.addMeter(function, m)
	}
}

// Total reads the sum of all functions' meters into m.
func (s *Sim) Total(m *Meter) {
	s.clearMeter(m)
	for i := range s.fns {
		s.addMeter(i, m)
	}
}

func (s *Sim) clearMeter(m *Meter) {
	sketch := m.sketch
	sketch.Reset()
	*m = Meter{From: s.from, To: s.cal.now, span: s.cal.now - s.from, sketch: sketch, sketched: s.sketches != nil}
	if m.sketched && m.sketch.bits != s.plan.bits {
		m.sketch.CopyFrom(&s.sketches[0])
		m.sketch.Reset()
	}
}

func (s *Sim) addMeter(function int, m *Meter) {
	f, c := &s.fns[function], &s.plan.cfg.Functions[function]
	f.gauge.touch(s.cal.now)
	m.Tally.merge(&f.tally)
	m.latency.merge(&f.latency)
	m.wait.merge(&f.wait)
	for i := range m.area {
		m.area[i].addWide(f.gauge.area[i])
	}
	m.usedMem.addWide(f.gauge.area[lvReady].times(uint64(c.IdleMemory)))
	m.usedMem.addWide(f.gauge.area[lvRunning].times(uint64(c.RequestMemory)))
	if m.sketched {
		m.sketch.merge(&s.sketches[function])
	}
}

// Add makes m the meter of its functions and o's together, over the same window.
func (m *Meter) Add(o *Meter) { m.merge(o) }

func (m *Meter) merge(o *Meter) {
	m.Tally.merge(&o.Tally)
	m.latency.merge(&o.latency)
	m.wait.merge(&o.wait)
	for i := range m.area {
		m.area[i].addWide(o.area[i])
	}
	m.usedMem.addWide(o.usedMem)
	if m.sketched = m.sketched && o.sketched && m.sketch.bits == o.sketch.bits; m.sketched {
		m.sketch.merge(&o.sketch)
	}
}

// CopyFrom makes m equal to o without sharing its buffers.
func (m *Meter) CopyFrom(o *Meter) {
	sketch := m.sketch
	sketch.CopyFrom(&o.sketch)
	*m = *o
	m.sketch = sketch
}

// ResetMeters begins a new window for all meters.
func (s *Sim) ResetMeters() {
	s.from = s.cal.now
	for i := range s.fns {
		f := &s.fns[i]
		f.tally, f.latency, f.wait = Tally{}, moments{}, moments{}
		f.gauge.since = s.cal.now
		f.gauge.area = [levels]wide{}
	}
	for i := range s.sketches {
		s.sketches[i].Reset()
	}
	for i := range s.nodes {
		s.nodes[i].since = s.cal.now
		s.nodes[i].area = [nodeLevels]wide{}
	}
}

// Seconds is the time measured.
func (m *Meter) Seconds() float64 { return m.span.Seconds() }

func (m *Meter) average(w wide) float64 {
	if m.span <= 0 {
		return 0
	}
	return w.float() / float64(m.span)
}

// Quantile is the latency that a share q of the completed requests did not exceed, to the sketch's relative error; 0 if
// none completed or no sketch is kept.
func (m *Meter) Quantile(q float64) float64 {
	if !m.sketched {
		return 0
	}
	return min(m.sketch.Quantile(q), m.latency.max).Seconds()
}

// Queued is the mean number of waiting requests, those bound to a starting instance included.
func (m *Meter) Queued() float64 { return m.average(m.area[lvWaiting]) }

// Running is the mean number of running requests.
func (m *Meter) Running() float64 { return m.average(m.area[lvRunning]) }

// InSystem is the mean number of requests, waiting or running.
func (m *Meter) InSystem() float64 { return m.Queued() + m.Running() }

// Instances is the mean number of placed instances: starting, idle, busy and draining.
func (m *Meter) Instances() float64 { return m.average(m.area[lvPlaced]) }

// StartingInstances is the mean number of starting instances.
func (m *Meter) StartingInstances() float64 { return m.average(m.area[lvStarting]) }

// BusyInstances is the mean number of instances that run something.
func (m *Meter) BusyInstances() float64 { return m.average(m.area[lvBusy]) }

// AllocatedCPU is the mean of placed instances' millicores.
func (m *Meter) AllocatedCPU() float64 { return m.average(m.area[lvCPU]) }

// UsedCPU is the mean of millicores in use: see Function.RequestCPU.
func (m *Meter) UsedCPU() float64 { return m.average(m.area[lvUsedCPU]) }

// ThrottledCPU is the mean of millicores wanted beyond the allocation: see Function.RequestCPU.
func (m *Meter) ThrottledCPU() float64 { return m.average(m.area[lvThrottled]) }

// AllocatedMemory is the mean of placed instances' MB.
func (m *Meter) AllocatedMemory() float64 { return m.average(m.area[lvMemory]) }

// UsedMemory is the mean of MB in use: see Function.IdleMemory.
func (m *Meter) UsedMemory() float64 { return m.average(m.usedMem) }

// Cost is the window's price in USD.
func (m *Meter) Cost(p Prices) float64 {
	cpu, mem, gpu := m.area[lvCPU], m.area[lvMemory], m.area[lvGPU]
	if p.BusyOnly {
		cpu, mem, gpu = m.area[lvBusyCPU], m.area[lvBusyMem], m.area[lvBusyGPU]
	}
	const hour = float64(Hour)
	usd := float64(p.VCPUHour * (cpu.float() / 1000 / hour))
	usd += float64(p.GBHour * (mem.float() / 1000 / hour))
	usd += float64(p.GPUSliceHour * (gpu.float() / hour))
	return usd + float64(p.Request*float64(m.Started))
}

// Sketch is a histogram of times on a log-linear scale: each power of two of microseconds is cut into 2^bits
// equal buckets, so that a quantile read from it is within a factor 1 ± 2^-(bits+1) of an observed value of that
// rank. Times below 2^(bits+1) µs are exact; times of 2^40 µs (12.7 days) and more share the last bucket.
// Sketches of equal bits merge exactly. The size is fixed; the cost of reading, copying and clearing is that
// of the range in use.
type Sketch struct {
	bits   int
	lo, hi int // used range of counts, hi exclusive
	n      uint64
	counts []uint64
}

// maxSketchBits bounds the resolution: about 35·2^10 buckets.
const maxSketchBits = 10

const sketchTop = 1<<40 - 1 // µs

// NewSketch returns an empty sketch; bits is from 1 to 10.
func NewSketch(bits int) (*Sketch, error) {
	if bits < 1 || bits > maxSketchBits {
		return nil, fmt.Errorf("sim: sketch bits are %d, want 1 to %d", bits, maxSketchBits)
	}
	return &Sketch{bits: bits, counts: make([]uint64, sketchLen(bits))}, nil
}

func sketchLen(bits int) int { return bucket(sketchTop, bits) + 1 }

// bucket is the index of v: v itself where exact, else (e << bits) + v>>e with e the bits that v loses.
func bucket(v uint64, b int) int {
	e := max(0, bits.Len64(v)-1-b)
	return e<<b + int(v>>e)
}

// bucketTime is the middle of a bucket in microseconds.
func bucketTime(i, b int) Time {
	e := max(0, i>>b-1)
	return Time((i-e<<b)<<e + (1<<e-1)/2)
}

// Add counts a time; a negative one counts as 0.
func (k *Sketch) Add(t Time) {
	i := bucket(uint64(min(max(t, 0), sketchTop)), k.bits)
	k.counts[i]++
	if k.n == 0 {
		k.lo, k.hi = i, i+1
	} else if i < k.lo {
		k.lo = i
	} else if i >= k.hi {
		k.hi = i + 1
	}
	k.n++
}

// Quantile returns the time of rank ⌈q·N⌉ (at least 1), to the sketch's accuracy; 0 if nothing was counted or q is NaN.
func (k *Sketch) Quantile(q float64) Time {
	if k.n == 0 || math.IsNaN(q) {
		return 0
	}
	rank := uint64(max(1, math.Ceil(min(q, 1)*float64(k.n))))
	var sum uint64
	for i := k.lo; i < k.hi; i++ {
		if sum += k.counts[i]; sum >= rank {
			return bucketTime(i, k.bits)
		}
	}
	return bucketTime(k.hi-1, k.bits)
}

// Reset empties the sketch.
func (k *Sketch) Reset() {
	clear(k.counts[k.lo:k.hi])
	k.lo, k.hi, k.n = 0, 0, 0
}

func (k *Sketch) merge(o *Sketch) {
	if o.n == 0 {
		return
	}
	for i := o.lo; i < o.hi; i++ {
		k.counts[i] += o.counts[i]
	}
	if k.n == 0 {
		k.lo, k.hi = o.lo, o.hi
	} else {
		k.lo, k.hi = min(k.lo, o.lo), max(k.hi, o.hi)
	}
	k.n += o.n
}

// CopyFrom makes k equal to o. It allocates only where o has more buckets than k ever had.
func (k *Sketch) CopyFrom(o *Sketch) {
	if k.bits != o.bits {
		k.Reset()
		k.bits = o.bits
		if cap(k.counts) < len(o.counts) {
			k.counts = make([]uint64, len(o.counts))
		}
		k.counts = k.counts[:len(o.counts)]
	}
	k.Reset()
	copy(k.counts[o.lo:o.hi], o.counts[o.lo:o.hi])
	k.lo, k.hi, k.n = o.lo, o.hi, o.n
}
