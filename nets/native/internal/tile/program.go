package tile

import (
	"time"

	"github.com/stoker-rl/stoker/internal/pool"
)

// wholeOp is an operation on whole tensors, in parts that can run side by side.
type wholeOp interface {
	operation
	pool.Job
	parts() int
}

// program is a recorded update as it runs: segments. Each runs all of its steps tile by tile, so that what one step
// writes is in the cache when the next one reads it, and then the operations that need all tiles.
type program struct {
	b        *Backend
	segments []*segment
	passes   []*forwardStep
}

// last is the segment that takes another step over agents and a batch; with agents 0, any.
func (p *program) last(agents, batch int) *segment {
	if n := len(p.segments); n > 0 {
		s := p.segments[n-1]
		if !s.sealed && (agents == 0 || s.takes(agents, batch)) {
			return s
		}
		s.seal()
	}
	s := newSegment(p.b, agents, batch)
	p.segments = append(p.segments, s)
	return s
}

// step adds an operation that runs tile by tile.
func (p *program) step(agents, batch int, s step) {
	l := p.last(agents, batch)
	l.steps = append(l.steps, s)
}

// sum adds an operation on what the steps left, which none of them reads: it waits for the segment's end.
func (p *program) sum(agents, batch int, w wholeOp) {
	l := p.last(agents, batch)
	l.sums = append(l.sums, w)
}

// whole adds an operation on whole tensors.
func (p *program) whole(w wholeOp) {
	if len(p.segments) == 0 {
		p.last(0, 0)
	}
	s := p.segments[len(p.segments)-1]
	s.seal()
	s.after = append(s.after, w)
}

// adam adds a step of an optimiser: among the steps of the last segment, or joined with the sum of the shards'
// gradients, where it can be.
func (p *program) adam(a *adamStep) {
	if len(p.segments) == 0 {
		p.last(0, 0)
	}
	s := p.segments[len(p.segments)-1]
	if s.takesAdam(a) {
		s.steps = append(s.steps, a)
		return
	}
	s.seal()
	if !s.fuse(a) {
		s.after = append(s.after, a, (*adamChange)(a))
	}
}

// zero sets a network's gradients to zero before what follows.
func (p *program) zero(n *network) {
	s := p.last(0, 0)
	if s.find(n) != nil {
		s.seal()
		s = p.last(0, 0)
	}
	s.adds = append(s.adds, &addition{n, true, false})
}

// add says that the steps add to a network's gradients.
func (p *program) add(n *network, batch int) {
	s := p.last(n.v.Agents, batch)
	a := s.find(n)
	if a == nil {
		a = &addition{n, false, false}
		s.adds = append(s.adds, a)
	}
	a.adds = true
}

// finish ends the capture: it divides steps into stages and decides how long each pass needs its activations.
func (p *program) finish() {
	if n := len(p.segments); n > 0 {
		p.segments[n-1].seal()
	}
	p.fuseTargets()
	type place struct{ segment, group, phase int } // a phase ends with a ranged stage
	phase := 0
	filled := map[*forwardStep]place{}
	for si, s := range p.segments {
		for _, st := range s.steps {
			if b, ok := st.(*backwardStep); ok {
				b.omit()
			}
			for _, g := range st.stages() {
				s.stage(g)
				if g.ranged {
					phase++
				}
				here := place{si, len(s.groups), phase}
				if g.fills != nil {
					filled[g.fills] = here
				}
				if f := g.needs; f != nil {
					switch there := filled[f]; {
					case there == here:
						f.lifetime = max(f.lifetime, untilAgent)
					case there.segment == si:
						f.lifetime = max(f.lifetime, untilTile)
					default:
						f.lifetime = untilForward
					}
				}
			}
		}
	}
	p.b.equip()
	for _, f := range p.passes {
		f.allocate(len(p.b.workers))
	}
}

// crew is who runs a program: a number of threads, or one worker alone.
type crew struct{ threads, worker int }

// do does the parts of a job.
func (c crew) do(j pool.Job, parts int) {
	if c.threads > 1 {
		pool.Do(j, parts, c.threads)
		return
	}
	for i := range parts {
		j.Part(i, c.worker)
	}
}

func (p *program) run(c crew) {
	for _, s := range p.segments {
		s.run(c)
		for _, w := range s.after {
			if p.b.state.Failed() {
				s.forget()
				return
			}
			c.do(w, w.parts())
		}
	}
}

// recorded is the programs of independent updates.
type recorded struct {
	b        *Backend
	programs []*program
	pace     pool.Pace
}

// Run implements [core.Program]. Independent programs get a thread each where there are too few for several each:
// threads that divide a program wait for each other at its segments.
func (r *recorded) Run() {
	threads := r.b.options.Threads
	if threads > 1 {
		threads = r.pace.Threads(threads)
		begun := time.Now()
		defer func() { r.pace.Ran(time.Since(begun)) }()
	}
	r.b.lastThreads = threads
	if threads > 1 && threads < 2*len(r.programs) {
		pool.Do(r, len(r.programs), threads)
		return
	}
	for _, p := range r.programs {
		p.run(crew{threads, 0})
	}
}

// Part implements [pool.Job]: one program, by one worker.
func (r *recorded) Part(i, w int) { r.programs[i].run(crew{1, w}) }
