package deeprm

import (
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
