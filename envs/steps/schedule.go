package steps

import (
	"math"
	"slices"

	"github.com/stoker-rl/stoker/internal/reuse"
)

// Load is an option as a [Schedule] takes it.
type Load struct {
	Instances, Cores int // cores of an instance
	// Seconds is the step's mean time where its instances find room at once, Variance that of it as if it were normal, Held
	// for how long an instance holds its room in the mean.
	Seconds, Variance, Held float64
	// USD is the step's price, Waiting what each second costs by which it takes longer.
	USD, Waiting float64
}

// load returns that of an option.
func (m *Model) load(step, option int) Load {
	o, p := m.Option(step, option), &m.Platform
	l := Load{Instances: o.Instances, Seconds: o.Mean, USD: o.USD}
	if m.Free(step) {
		l.Instances = 0
		return l
	}
	l.Cores, l.Variance = p.CoresOf(o.MB), o.variance()
	l.Held = m.held(step, configuration{o.MB, o.Instances, o.Processes}, o.Mean)
	if p.BillMapping {
		l.Waiting = float64(float64(o.Instances) * p.perSecond(o.MB))
	}
	return l
}

// held is for how long an instance of a step holds its room in the mean.
func (m *Model) held(step int, c configuration, whole float64) float64 {
	if m.fitted != nil {
		return whole
	}
	t := m.Platform.times(&m.Steps[step], c)
	return min(m.Platform.mapping((c.instances+1)/2)+t.meanRun(), whole)
}

// SharesCluster reports whether the platform's cores are bounded.
func (m *Model) SharesCluster() bool { return m.Platform.Workers > 0 }

// AllCores is how many cores the workers have together.
func (p *Platform) AllCores() int { return p.Workers * p.Cores }

// Schedule predicts how a request goes on where its steps share the cores of a cluster: instances find room in the order
// in which their steps begin, as in the environment, and each holds it for its mean time. Of a branch all alternatives
// count as taken. A Schedule belongs to one goroutine and does not allocate after the first use.
type Schedule struct {
	m           *Model
	open        []int     // per step the edges into it that are not passed
	stage       []stage   // per step
	end, varies []float64 // per step that has begun when it ends, and the variance of that
	held        []batch
	free        int
	head        float64 // nothing finds room earlier
}

// batch is some cores that are held until a time.
type batch struct {
	end   float64
	cores int
}

// stage is where a step stands in a schedule.
type stage uint8

const (
	notYet stage = iota
	underWay
	over
)

// Course is what a request is predicted to come to.
type Course struct {
	// Seconds and Variance are of the end of the latest path, in seconds since the request began.
	Seconds, Variance float64
	// USD is the price of what is not decided.
	USD float64
}

// deviations above its mean a normal time is at its 90th percentile.
const deviations = 1.2815515655446004

// At is the end at so many deviations above the mean.
func (c *Course) At(z float64) float64 { return c.Seconds + float64(z*math.Sqrt(c.Variance)) }

// Late is the probability of an end after a limit.
func (c *Course) Late(limit float64) float64 { return 1 - inTime(limit-c.Seconds, c.Variance) }

// Begin takes a workflow.
func (s *Schedule) Begin(m *Model) { s.m, s.held = m, slices.Grow(s.held[:0], roomyRuns) }

// Follow predicts the course where every step has the load that is given: of a running step its own.
func (s *Schedule) Follow(at *Moment, loads []Load) (c Course) {
	n := len(s.m.Steps)
	s.open = append(s.open[:0], s.m.before...)
	s.stage, s.end, s.varies = reuse.Slice(s.stage, n), reuse.Slice(s.end, n), reuse.Slice(s.varies, n)
	s.held, s.free, s.head = s.held[:0], s.m.Platform.AllCores(), at.Now
	for v, state := range at.State {
		s.stage[v], s.varies[v] = notYet, 0
		switch state {
		case Done, Skipped:
			s.stage[v] = over
			s.pass(v)
		case Running:
			l := &loads[v]
			s.stage[v], s.varies[v] = underWay, l.Variance
			s.end[v] = max(at.Begun[v]+l.Seconds, at.Now+float64(l.Seconds/10))
		}
	}
	s.occupy(at, loads)
	for _, v := range at.Ready {
		s.start(v, at.Now, &loads[v], &c)
	}
	for now := at.Now; ; {
		next := -1
		for v := range s.stage {
			if s.stage[v] == underWay && (next < 0 || s.end[v] < s.end[next]) {
				next = v
			}
		}
		if next < 0 {
			return c
		}
		now = max(now, s.end[next])
		if x := (Course{Seconds: now, Variance: s.varies[next]}); x.At(deviations) > c.At(deviations) {
			c.Seconds, c.Variance = now, s.varies[next]
		}
		s.stage[next] = over
		s.pass(next)
		for _, e := range s.m.edges[next] {
			if e.to >= 0 && s.open[e.to] == 0 && s.stage[e.to] == notYet {
				s.start(e.to, now, &loads[e.to], &c)
			}
		}
	}
}

// pass settles the edges that leave a step. The last one into a step hands its variance on.
func (s *Schedule) pass(v int) {
	for _, e := range s.m.edges[v] {
		if e.to < 0 {
			continue
		}
		if s.open[e.to]--; s.stage[e.to] == notYet {
			s.varies[e.to] = s.varies[v]
		}
	}
}

// occupy puts the instances there that hold room or wait for it.
func (s *Schedule) occupy(at *Moment, loads []Load) {
	for i := range at.Runs {
		r := &at.Runs[i]
		s.hold(max(r.Since+r.Seconds, at.Now+float64(r.Seconds/10)), r.Last-r.Seconds, r.Started, r.Cores)
	}
	for i := range at.Runs {
		r := &at.Runs[i]
		if r.Queued == 0 {
			continue
		}
		last := s.place(at.Now, r.Queued, r.Cores, r.Seconds, r.Last)
		if r.Step >= 0 {
			s.end[r.Step] = max(s.end[r.Step], last+loads[r.Step].Seconds)
		}
	}
}

// start begins a step.
func (s *Schedule) start(v int, now float64, l *Load, c *Course) {
	last := s.place(now, l.Instances, l.Cores, l.Held, l.Seconds)
	s.stage[v], s.end[v] = underWay, last+l.Seconds
	s.varies[v] += l.Variance
	c.USD += l.USD + float64(l.Waiting*(last-now))
}

// place finds room for n instances that are wanted from now on, each for some seconds in the mean and the last of them
// for longer, and returns when the last one found it.
func (s *Schedule) place(now float64, n, cores int, mean, longest float64) float64 {
	if n == 0 {
		return now
	}
	s.head = max(s.head, now)
	for {
		for i := 0; i < len(s.held); {
			if s.held[i].end <= s.head {
				s.release(i)
			} else {
				i++
			}
		}
		if k := min(n, s.free/cores); k > 0 {
			s.hold(s.head+mean, longest-mean, k, cores)
			n -= k
		}
		if n == 0 || len(s.held) == 0 {
			return s.head
		}
		first := 0
		for i := range s.held {
			if s.held[i].end < s.held[first].end {
				first = i
			}
		}
		s.head = max(s.head, s.held[first].end)
	}
}

// hold has n instances hold room until about an end: a third of them each earlier, then and later.
func (s *Schedule) hold(end, later float64, n, cores int) {
	s.free -= n * cores
	for k := -1; k <= 1; k++ {
		if part := (n + 1 + k) / 3; part > 0 {
			s.held = append(s.held, batch{end + float64(float64(float64(k)*later)*2/3), part * cores})
		}
	}
}

func (s *Schedule) release(i int) {
	s.free += s.held[i].cores
	last := len(s.held) - 1
	s.held[i] = s.held[last]
	s.held = s.held[:last]
}
