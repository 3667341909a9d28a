package native

import "github.com/stoker-rl/stoker/nets/native/kernel"

// segment is a run of steps over one batch, the gradients that they add up, and what comes after.
//
// Threads share either the tiles of the batch or, where those are few, the agents of a tile: then every agent's gradients have one place to be summed
// in, but threads wait for each other wherever agents see each other. Which it is, and the number of parts, follows from agents and batch
// alone, so that no number of threads changes a bit.
type segment struct {
	t             *tiler
	tiling        // of its tensors, of no width
	byAgent       bool
	ranged        bool // some stage does a range of agents in one go
	steps         []step
	groups        []group
	adds          []*addition
	sums          []wholeOp // over tiles, of what no step reads
	after         []wholeOp
	sealed        bool // nothing goes tile by tile any more
	ctx           []context
	inTile, group int // with byAgent: where the segment is
}

// group is stages that are done one after the other, for each agent in turn where agents are apart: then what one stage leaves of an agent
// is still in the first cache.
type group struct {
	stages []stage
	agents int    // 0 where they are not apart
	ranged []bool // by stage: it does a range of agents in one go, and those before and after it wait for each other
}

// addition is a network whose gradients a segment sets to zero, adds to, or both.
type addition struct {
	net        *tileNet
	zero, adds bool
}

// byAgent says whether threads share agents: where there are a few at least, and so few tiles that these would not go round.
func byAgent(t tiling) bool { return t.agents >= crowd && t.tiles < 4 }

// crowd is the number of agents from which threads may share them, mostParts how many parts they make at most.
const crowd, mostParts = 4, 32

func newSegment(t *tiler, agents, batch int) *segment {
	s := &segment{t: t}
	for i := range t.workers {
		s.ctx = append(s.ctx, context{scratch: t.workers[i], worker: i})
	}
	s.takes(agents, batch)
	return s
}

// takes says whether a step over agents and a batch can be among the segment's, and gives an empty segment their size.
func (s *segment) takes(agents, batch int) bool {
	if s.lanes == 0 && agents > 0 {
		s.tiling = newTiling(agents, batch, 0)
		s.byAgent = byAgent(s.tiling)
	}
	return s.agents == agents && s.batch == batch
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
	s.refresh()
	s.after = append(s.after, s.sums...)
	for _, a := range s.adds {
		r := &reduceJob{k: s.t.set, net: a.net, zero: a.zero}
		if a.adds && !a.net.direct(s) {
			r.shares = s.shares()
			a.net.share(r.shares)
		}
		if !a.net.direct(s) || !a.adds {
			s.after = append(s.after, r)
		}
	}
}

// refresh lets the first step that adds to gradients in their one place set them to zero before, agent by agent, where that is asked for: so it's done
// by the thread that adds to them next.
func (s *segment) refresh() {
	for _, st := range s.steps {
		b, ok := st.(*backwardStep)
		if !ok || !b.params {
			continue
		}
		if a := s.find(b.of.w.net.tiles); a != nil && a.zero && a.net.direct(s) {
			b.fresh, a.zero = true, false
		}
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

// shares is the number of parts that gradients are summed in.
func (s *segment) shares() int {
	if !s.byAgent {
		return shareCount(s.tiles)
	}
	// Agents that go together want parts of as many as can, where those still go round. It changes no bit: gradients have one place each.
	const many = kernel.MostTogether
	if n := (s.agents + many - 1) / many; s.ranged && n >= 4*s.t.threads && s.allDirect() {
		return min(n, mostParts)
	}
	return min(s.agents, mostParts)
}

// allDirect says whether all gradients that the segment adds to have one place for each agent.
func (s *segment) allDirect() bool {
	for _, a := range s.adds {
		if a.adds && !a.net.direct(s) {
			return false
		}
	}
	return true
}

// stage adds one to the last group, or begins another.
func (s *segment) stage(st stage) {
	n := st.apart()
	s.ranged = s.ranged || inOneGo(st)
	if last := len(s.groups) - 1; n > 0 && last >= 0 && s.groups[last].agents == n && !st.fence() {
		g := &s.groups[last]
		g.stages, g.ranged = append(g.stages, st), append(g.ranged, inOneGo(st))
		return
	}
	s.groups = append(s.groups, group{[]stage{st}, n, []bool{inOneGo(st)}})
}

// inOneGo says whether a stage is ranged.
func inOneGo(st stage) bool {
	_, ok := st.(ranged)
	return ok
}

// run does the steps.
func (s *segment) run(threads int) {
	if len(s.steps) == 0 {
		return
	}
	if !s.byAgent {
		helpers.do(s, s.shares(), threads)
		return
	}
	for s.inTile = range s.tiles {
		for s.group = range s.groups {
			if g := &s.groups[s.group]; g.agents == 0 {
				s.ctx[0].share = 0
				g.run(&s.ctx[0], s.inTile, 0, s.agents)
			} else {
				helpers.do(s, s.shares(), threads)
			}
		}
	}
}

// part implements [job]: one share of a tile's agents, or of the batch.
func (s *segment) part(i, w int) {
	x := &s.ctx[w]
	x.share = i
	if s.byAgent {
		from, to := share(i, s.shares(), s.agents)
		s.groups[s.group].run(x, s.inTile, from, to)
		return
	}
	from, to := share(i, s.shares(), s.tiles)
	for tile := from; tile < to; tile++ {
		for g := range s.groups {
			s.groups[g].run(x, tile, 0, s.agents)
		}
	}
}

// run does a group's stages for some agents.
func (g *group) run(x *context, tile, from, to int) {
	if g.agents == 0 {
		for _, st := range g.stages {
			st.run(x, tile, from, to)
		}
		return
	}
	for n := 0; n < len(g.stages); {
		if g.ranged[n] {
			g.stages[n].run(x, tile, from, to)
			n++
			continue
		}
		end := n + 1
		for end < len(g.stages) && !g.ranged[end] {
			end++
		}
		for a := from; a < to; a++ {
			for _, st := range g.stages[n:end] {
				st.run(x, tile, a, a+1)
			}
		}
		n = end
	}
}
