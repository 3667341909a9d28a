package native

import (
	"time"

	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// step is an operation that goes tile by tile, in stages: what it reads and writes of a tile no other tile touches.
type step interface {
	stages() []stage
}

// stage is a part of a step.
type stage interface {
	// run does it on a tile for the agents [from, to).
	run(x *context, tile, from, to int)
	// apart is the number of agents where each can go alone, writing nothing that another touches; 0 where one goroutine does all.
	apart() int
	// fence says that the stage reads what the one before it did for other agents.
	fence() bool
}

// context is where a stage runs: on a worker, for a share of the gradients.
type context struct {
	*scratch
	worker, share int
}

// wholeOp is an operation on whole tensors, in parts that can run side by side.
type wholeOp interface {
	job
	parts() int
}

// program is a recorded update as it runs: segments, each of which goes tile by tile through all of its steps, so that what one step leaves
// is in the cache when the next one wants it, and then does what needs all tiles.
type program struct {
	t        *tiler
	segments []*segment
	passes   []*forwardStep
	pace     pace
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
	s := newSegment(p.t, agents, batch)
	p.segments = append(p.segments, s)
	return s
}

// step adds an operation that goes tile by tile.
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
	a, ok := w.(*adamJob)
	if ok && s.takesAdam(a) {
		s.steps = append(s.steps, (*adamStage)(a))
		return
	}
	s.seal()
	if ok && s.fuse(a) {
		return
	}
	s.after = append(s.after, w)
}

// zero clears a network's gradients before what follows.
func (p *program) zero(n *tileNet) {
	s := p.last(0, 0)
	if s.find(n) != nil {
		s.seal()
		s = p.last(0, 0)
	}
	s.adds = append(s.adds, &addition{n, true, false})
}

// add says that the steps add to a network's gradients.
func (p *program) add(n *tileNet, batch int) {
	s := p.last(n.net.agents, batch)
	a := s.find(n)
	if a == nil {
		a = &addition{n, false, false}
		s.adds = append(s.adds, a)
	}
	a.adds = true
}

// ready ends the listing: it decides what each pass keeps, and for how long.
func (p *program) ready() {
	if n := len(p.segments); n > 0 {
		p.segments[n-1].seal()
	}
	p.fuseTargets()
	type place struct{ segment, group, phase int } // a phase ends with a stage that does a range of agents in one go
	phase := 0
	where := map[*forwardStep]place{}
	for si, s := range p.segments {
		for _, st := range s.steps {
			if b, ok := st.(*backwardStep); ok {
				b.drop()
			}
			for _, g := range st.stages() {
				s.stage(g)
				if inOneGo(g) {
					phase++
				}
				here := place{si, len(s.groups), phase}
				switch g := g.(type) {
				case *forwardStage:
					where[(*forwardStep)(g)] = here
				case *backwardStage:
					f := g.of
					switch there := where[f]; {
					case there == here:
						f.keep = max(f.keep, keepAgent)
					case there.segment == si:
						f.keep = max(f.keep, keepTile)
					default:
						f.keep = keepAll
					}
				}
			}
		}
	}
	p.t.equip()
	for _, f := range p.passes {
		f.allocate(len(p.t.workers))
	}
}

// drop leaves out the inputs' gradients that nobody has asked for.
func (b *backwardStep) drop() {
	w := b.of.w.tiles
	for p := range b.gradIn {
		if b.gradIn[p] != nil && !w.asked[p] {
			b.gradIn[p], w.stale[p] = nil, true
		}
	}
}

// run does the program once.
func (p *program) run() {
	threads := p.t.threads
	if threads > 1 {
		threads = p.pace.threads(threads)
		begun := time.Now()
		defer func() { p.pace.ran(time.Since(begun)) }()
	}
	p.t.lately = threads
	for _, s := range p.segments {
		s.run(threads)
		for _, w := range s.after {
			if p.t.e.failed() {
				return
			}
			helpers.do(w, w.parts(), threads)
		}
	}
}

// list makes the program of an update by calling it once.
func (t *tiler) list(update func()) *program {
	p := &program{t: t}
	t.capture = p
	defer func() { t.capture = nil }()
	update()
	p.ready()
	return p
}

// addUp does dst += sum and clears sum.
func addUp(k *kernel.Set, dst, sum []float32) {
	k.Axpy(1, sum, dst)
	clear(sum)
}
