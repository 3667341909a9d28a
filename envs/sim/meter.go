package sim

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

// Violations counts the requests that ended without success or late.
func (t *Tally) Violations() int64 { return t.Late + t.Rejected + t.TimedOut + t.Killed }

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

// Extend makes m the meter of its window and o's, a later one of the same functions, together.
func (m *Meter) Extend(o *Meter) {
	m.merge(o)
	m.To = o.To
	m.span += o.span
}

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

// Cost is the price of m's window at the configuration's prices.
func (s *Sim) Cost(m *Meter) float64 { return m.Cost(s.plan.cfg.Prices) }

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
