package native

import "github.com/stoker-rl/stoker/nets/native/kernel"

// step is an operation that goes tile by tile, in stages: what it reads and writes of a tile no other tile touches.
type step interface {
	stages() []stage
}

// stage is a part of a step.
type stage interface {
	// run does it on a tile for the agents [from, to).
	run(x *context, tile, from, to int)
	// apart is the number of agents where each can go alone, touching nothing of another's; 0 where the stage is for all at once.
	apart() int
}

// group is stages that are done one after the other, for each agent in turn where agents are apart: then what one stage leaves of an agent
// is still in the first cache.
type group struct {
	stages []stage
	agents int
}

// context is where a step runs: on a worker, for a share of the gradients.
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
}

// segment is a run of steps over one batch, the gradients that they add up, and what comes after.
type segment struct {
	batch  int
	steps  []step
	groups []group
	adds   []*addition
	sums   []wholeOp // over tiles, of what no step reads
	after  []wholeOp
	sealed bool // nothing goes tile by tile any more
	k      *kernel.Set
	ctx    []context
}

// addition is a network whose gradients a segment sets to zero, adds to, or both.
type addition struct {
	net  *tileNet
	zero bool // first
}

// last is the segment that takes another step over a batch.
func (p *program) last(batch int) *segment {
	if n := len(p.segments); n > 0 {
		s := p.segments[n-1]
		if !s.sealed && (s.batch == batch || s.batch == 0 || batch == 0) {
			s.batch = max(s.batch, batch)
			return s
		}
		s.seal()
	}
	s := &segment{batch: batch, k: p.t.set}
	for i := range p.t.workers {
		s.ctx = append(s.ctx, context{scratch: p.t.workers[i], worker: i})
	}
	p.segments = append(p.segments, s)
	return s
}

// step adds an operation that goes tile by tile.
func (p *program) step(batch int, s step) {
	l := p.last(batch)
	l.steps = append(l.steps, s)
}

// sum adds an operation on what the steps left, which none of them reads: it waits for the segment's end.
func (p *program) sum(batch int, w wholeOp) {
	l := p.last(batch)
	l.sums = append(l.sums, w)
}

// whole adds an operation on whole tensors.
func (p *program) whole(w wholeOp) {
	if len(p.segments) == 0 {
		p.last(0)
	}
	s := p.segments[len(p.segments)-1]
	s.seal()
	if a, ok := w.(*adamJob); ok && s.fuse(a) {
		return
	}
	s.after = append(s.after, w)
}

// zero clears a network's gradients before what follows.
func (p *program) zero(n *tileNet) {
	s := p.last(0)
	if s.find(n) != nil {
		s.seal()
		s = p.last(0)
	}
	s.adds = append(s.adds, &addition{n, true})
}

// add says that the steps add to a network's gradients.
func (p *program) add(n *tileNet, batch int) {
	n.share(shareCount(newTiling(1, batch, 1).tiles))
	if s := p.last(batch); s.find(n) == nil {
		s.adds = append(s.adds, &addition{n, false})
	}
}

func (s *segment) find(n *tileNet) *addition {
	for _, a := range s.adds {
		if a.net == n {
			return a
		}
	}
	return nil
}

// seal ends the part that goes tile by tile: the shares' gradients are added up first of all that follows.
func (s *segment) seal() {
	if s.sealed {
		return
	}
	s.sealed = true
	s.after = append(s.after, s.sums...)
	for _, a := range s.adds {
		s.after = append(s.after, &reduceJob{k: s.k, net: a.net, zero: a.zero, shares: s.shares()})
	}
}

// fuse lets Adam add up the shares' gradients itself, while a group's numbers are in the cache, where nothing comes between.
func (s *segment) fuse(a *adamJob) bool {
	for i := len(s.after) - 1; i >= 0; i-- {
		switch j := s.after[i].(type) {
		case *reduceJob:
			if j.net.net == a.adam.net {
				a.reduce = j
				s.after[i] = a
				return true
			}
		case *adamJob:
		default:
			return false
		}
	}
	return false
}

func (s *segment) shares() int { return shareCount(newTiling(1, s.batch, 1).tiles) }

// part implements [job]: one share of the batch.
func (s *segment) part(i, w int) {
	x := &s.ctx[w]
	x.share = i
	from, to := share(i, s.shares(), newTiling(1, s.batch, 1).tiles)
	for tile := from; tile < to; tile++ {
		for _, g := range s.groups {
			for a := range g.agents {
				for _, st := range g.stages {
					st.run(x, tile, a, a+1)
				}
			}
		}
	}
}

// ready ends the listing: it decides what each pass keeps, and for how long.
func (p *program) ready() {
	if n := len(p.segments); n > 0 {
		p.segments[n-1].seal()
	}
	p.fuseTargets()
	type place struct{ segment, group int }
	where := map[*forwardStep]place{}
	for si, s := range p.segments {
		for _, st := range s.steps {
			if b, ok := st.(*backwardStep); ok {
				b.drop()
			}
			for _, g := range st.stages() {
				s.stage(g)
				here := place{si, len(s.groups)}
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

// run does the program once.
func (p *program) run() {
	for _, s := range p.segments {
		if len(s.steps) > 0 {
			helpers.do(s, s.shares(), p.t.threads)
		}
		for _, w := range s.after {
			if p.t.e.failed() {
				return
			}
			helpers.do(w, w.parts(), p.t.threads)
		}
	}
}

// stage adds one to the last group, or begins another.
func (s *segment) stage(st stage) {
	n := st.apart()
	if last := len(s.groups) - 1; n > 0 && last >= 0 && s.groups[last].agents == n && s.groups[last].stages[0].apart() == n {
		s.groups[last].stages = append(s.groups[last].stages, st)
		return
	}
	s.groups = append(s.groups, group{[]stage{st}, max(n, 1)})
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

// list makes the program of an update by calling it once.
func (t *tiler) list(update func()) *program {
	p := &program{t: t}
	t.capture = p
	defer func() { t.capture = nil }()
	update()
	p.ready()
	return p
}
