package deeprm

import (
	"math"
	"math/bits"

	"github.com/stoker-rl/stoker/rng"
)

// job is a job that has arrived. A job's number is the time step of its arrival, at most one in each.
type job struct {
	demand uint64 // slots of each resource, 16 bits each
	length int32  // 0 where none arrived
	finish int32  // the time step in which it leaves; 0 while it waits
	grey   int32  // of its cells in the image
}

// source draws the jobs. Which job arrives in a time step depends on the job set and the time step alone.
type source struct {
	c     *Config
	given [][]job // by set and time step, nil where jobs are drawn
	draws
	traced func(purpose string, a, b, c uint64, value float64)
}

// draws are the job set of an episode, and the keys of its draws.
type draws struct {
	set    int // -1 where every seed has its own
	arrive rng.Key
	shape  rng.Key // length and dominant resource
	demand rng.Key
}

func newSource(c *Config) source {
	s := source{c: c, draws: draws{set: -1}}
	for _, set := range c.Jobs {
		row := make([]job, c.Steps)
		for _, j := range set {
			row[j.At] = job{demand: pack(j.Demand), length: int32(j.Length)}
		}
		s.given = append(s.given, row)
	}
	return s
}

// sets is the number of job sets that recur.
func (s *source) sets() int { return max(s.c.Sets, len(s.given)) }

// begin chooses the episode's jobs: those of a set, or the seed's own.
func (s *source) begin(seed uint64, set int) {
	s.set = set
	base, of := seed, uint64(0)
	if set >= 0 {
		base, of = s.c.SetSeed, uint64(set)+1
	}
	s.arrive = rng.New(base, "arrival").With(of)
	s.shape = rng.New(base, "shape").With(of)
	s.demand = rng.New(base, "demand").With(of)
}

// at is the job that arrives in a time step, of length 0 where there is none.
func (s *source) at(step int) job {
	if s.given != nil {
		return s.given[s.set][step]
	}
	c, i := s.c, uint64(step)
	u := s.arrive.With(i).Float64()
	s.report("arrival", i, 0, u)
	if u >= c.Rate {
		return job{}
	}
	// Given u < rate, u/rate is uniform too: it chooses between short and long.
	kind := c.Long
	if u < float64(c.Rate*c.ShortShare) {
		kind = c.Short
	}
	shape := digits(s.shape.With(i).Uint64())
	j := job{length: int32(kind.Low + shape.next(kind.High-kind.Low+1))}
	s.report("length", i, 0, float64(j.length))
	dominant := shape.next(c.Resources)
	s.report("dominant resource", i, 0, float64(dominant))
	demands := digits(s.demand.With(i).Uint64())
	for r := range c.Resources {
		of := c.Other
		if r == dominant {
			of = c.Dominant
		}
		d := of.Low + demands.next(of.High-of.Low+1)
		s.report("demand", i, uint64(r), float64(d))
		j.demand |= uint64(d) << (16 * r)
	}
	return j
}

// digits is a uniform number in [0, 1) in units of 2⁻⁶⁴ from which several small draws are taken: what is left after a
// draw is again uniform. Four draws among 4,096 leave 16 bits, so no probability is off by more than a factor of
// 2⁻¹⁶.
type digits uint64

// next draws from [0, n).
func (d *digits) next(n int) int {
	hi, lo := bits.Mul64(uint64(*d), uint64(n))
	*d = digits(lo)
	return int(hi)
}

func (s *source) report(purpose string, a, b uint64, value float64) {
	if s.traced != nil {
		s.traced(purpose, a, b, 0, value)
	}
}

// cluster holds the free slots of each resource in each time step of the horizon. The numbers of one time step share a
// word, 16 bits (a lane) for each resource, so that one subtraction compares all of them: a configuration has at most
// four resources of at most 4,096 slots each.
type cluster struct {
	free []uint64 // by time step from now
	full uint64   // all slots free
}

const (
	// guards are the lanes' top bits, which are not used by numbers: a lane that would fall below zero borrows from its
	// own guard bit.
	guards = 0x8000_8000_8000_8000
	// never is a demand that exceeds any cluster: 4,096 slots are fewer in every lane.
	never = 0x7fff_7fff_7fff_7fff
)

// pack puts the numbers of up to four resources into one word.
func pack(of []int) uint64 {
	x := uint64(0)
	for r, n := range of {
		x |= uint64(n) << (16 * r)
	}
	return x
}

// lane is the number of resource r.
func lane(x uint64, r int) int { return int(x >> (16 * r) & 0xffff) }

// room reports whether a demand is at most what is free, in every lane.
func room(free, demand uint64) bool { return ((free|guards)-demand)&guards == guards }

// fits reports whether a job can start at time step t and run to its end within the horizon.
func (c *cluster) fits(j *job, t int) bool {
	if t+int(j.length) > len(c.free) {
		return false
	}
	for _, f := range c.free[t : t+int(j.length)] {
		if !room(f, j.demand) {
			return false
		}
	}
	return true
}

// earliest is the first time step before end at which a job can start, -1 where there is none.
func (c *cluster) earliest(j *job, end int) int {
	for t := range end {
		if c.fits(j, t) {
			return t
		}
	}
	return -1
}

// take gives a job its slots from time step t on.
func (c *cluster) take(j *job, t int) {
	for i := range c.free[t : t+int(j.length)] {
		c.free[t+i] -= j.demand
	}
}

// move lets a time step pass.
func (c *cluster) move() {
	copy(c.free, c.free[1:])
	c.free[len(c.free)-1] = c.full
}

func (c *cluster) clear() {
	for i := range c.free {
		c.free[i] = c.full
	}
}

// How jobs come to DeepRM's cluster, start there and leave.

// start is the time step, counted from now, at which the job in a place can start; −1 where there is no job or no room.
// Where starts are not booked ahead, a job that fits now fits for its whole length: running jobs only leave.
func (e *Env) start(place int) int {
	i := e.visible[place]
	if i < 0 {
		return -1
	}
	if !e.booking {
		if room(e.cluster.free[0], e.needs[place]) {
			return 0
		}
		return -1
	}
	j := &e.jobs[i]
	end := e.c.Horizon - int(j.length) + 1
	if e.c.Defects.SkipLastStart {
		end--
	}
	return e.cluster.earliest(j, end)
}

// place starts or books the job in a place. The backlog's oldest job moves into the place.
func (e *Env) place(place, start int) {
	i := e.visible[place]
	j := &e.jobs[i]
	e.started++
	e.cluster.take(j, start)
	j.finish = e.now + int32(start) + j.length
	e.soonest = min(e.soonest, j.finish)
	e.ends = e.ends[:0]
	e.screen.placed(e, j, start)
	e.active = append(e.active, i)
	e.visible[place], e.needs[place] = -1, never
	e.shown--
	if e.waiting > 0 {
		e.show(place, e.backlog[e.first])
		if e.first++; e.first == len(e.backlog) {
			e.first = 0
		}
		e.waiting--
		e.screen.backlog(e.waiting)
	} else {
		e.screen.place(place, nil)
	}
}

func (e *Env) show(place int, i int32) {
	e.visible[place], e.needs[place] = i, e.jobs[i].demand
	e.shown++
	e.screen.place(place, &e.jobs[i])
}

// move lets a time step pass: jobs leave, the next one arrives. It returns whether the episode ended or was cut.
func (e *Env) move() (terminated, truncated bool) {
	e.now++
	e.cluster.move()
	e.leave()
	e.screen.moved(e)
	switch {
	case e.c.End == NoNewJob:
		truncated = int(e.now) >= e.c.Steps
	case int(e.now) >= e.c.Steps && len(e.active) == 0 && e.shown == 0 && e.waiting == 0:
		terminated = true
	default:
		truncated = int(e.now) > e.c.MaxTime
	}
	e.running = !terminated && !truncated
	if truncated {
		e.tally.mean = e.cut()
	}
	if e.running && int(e.now) < e.c.Steps {
		e.arrive()
	}
	return terminated, truncated
}

// leave removes the jobs that have ended. With LateRemoval the job after each removed one is skipped, as in a loop that
// deletes from the list that it iterates over.
func (e *Env) leave() {
	e.ends = e.ends[:0]
	if e.now < e.soonest {
		return
	}
	e.soonest = math.MaxInt32
	remaining := e.active[:0]
	skip := false
	for _, i := range e.active {
		j := &e.jobs[i]
		if j.finish > e.now || skip {
			remaining = append(remaining, i)
			e.soonest = min(e.soonest, j.finish)
			skip = false
			continue
		}
		skip = e.c.Defects.LateRemoval
		e.weight -= e.inverse[j.length]
		s := float64(j.finish-i) / float64(j.length)
		if e.c.Defects.FloorSlowdown {
			s = float64((j.finish - i) / j.length)
		}
		e.tally.slowdown += s
		e.tally.finished++
		e.ends = append(e.ends, s)
	}
	e.active = remaining
	if len(e.ends) > 0 {
		e.tally.mean = e.tally.slowdown / float64(e.tally.finished)
	}
}

// arrive puts the time step's job, if there is one, into the first empty place, else into the backlog, else drops it.
func (e *Env) arrive() {
	j := e.source.at(int(e.now))
	if j.length == 0 {
		return
	}
	e.screen.arrived()
	e.jobs[e.now] = j
	if e.shown < len(e.visible) {
		for p, i := range e.visible {
			if i < 0 {
				e.weight += e.inverse[j.length]
				e.show(p, e.now)
				return
			}
		}
	}
	if e.waiting == len(e.backlog) {
		e.tally.dropped++
		return
	}
	at := e.first + e.waiting
	if at >= len(e.backlog) {
		at -= len(e.backlog)
	}
	e.backlog[at] = e.now
	e.waiting++
	e.weight += e.inverse[j.length]
	e.screen.backlog(e.waiting)
}
