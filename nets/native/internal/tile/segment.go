package tile

import (
	"slices"

	"github.com/stoker-rl/stoker/internal/pool"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// segment is a run of steps over one batch, the gradients that they add up, and what comes after.
//
// Threads divide either the tiles of the batch or, where those are few, the agents of a tile: then every
// agent's gradients have one place to be summed in, but threads wait for each other wherever agents see each
// other. Which it is, and the number of shards, follows from agents and batch alone, so that no number of
// threads changes a bit.
type segment struct {
	b             *Backend
	tiling        // of its tensors, of no width
	byAgent       bool
	ranged        bool // some stage is
	steps         []step
	groups        []group
	adds          []*addition
	sums          []wholeOp // over tiles, of what no step reads
	after         []wholeOp
	sealed        bool // no step can be added any more
	ctx           []context
	inTile, group int // with byAgent: where the segment is
}

// group is stages that are done one after the other, for each agent in turn where agents are independent: then
// what one stage leaves of an agent is still in the first cache.
type group struct {
	stages []stage
	agents int // 0 where they are not independent
}

// addition is a network whose gradients a segment sets to zero, adds to, or both.
type addition struct {
	net        *network
	zero, adds bool
}

// byAgent says whether threads divide agents: where there are a few at least, and so few tiles that there would
// not be one for each thread.
func byAgent(t tiling) bool { return t.agents >= minAgents && t.tiles < 4 }

// minAgents is the number of agents from which threads may divide them, maxShards how many shards they make at most.
const minAgents, maxShards = 4, 32

func newSegment(b *Backend, agents, batch int) *segment {
	s := &segment{b: b}
	for i := range b.workers {
		s.ctx = append(s.ctx, context{scratch: b.workers[i], worker: i})
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

func (s *segment) find(n *network) *addition {
	for _, a := range s.adds {
		if a.net == n {
			return a
		}
	}
	return nil
}

// seal ends the part that runs tile by tile. The first operation after it adds up the shards' gradients.
func (s *segment) seal() {
	if s.sealed {
		return
	}
	s.sealed = true
	s.refresh()
	s.after = append(s.after, s.sums...)
	for _, a := range s.adds {
		r := &reduceOp{k: s.b.set, net: a.net, zero: a.zero}
		if a.adds && !a.net.direct(s) {
			r.shards = s.shards()
			a.net.makeShards(r.shards)
		}
		if !a.net.direct(s) || !a.adds {
			s.after = append(s.after, r)
		}
	}
}

// refresh lets the first step that adds to gradients in their one place set them to zero before, agent by
// agent, where that is asked for: so it's done by the thread that adds to them next.
func (s *segment) refresh() {
	for _, st := range s.steps {
		b, ok := st.(*backwardStep)
		if !ok || !b.params {
			continue
		}
		if a := s.find(b.of.p.net); a != nil && a.zero && a.net.direct(s) {
			b.fresh, a.zero = true, false
		}
	}
}

// fuse lets Adam add up the shards' gradients itself, while a group's numbers are in the cache, where nothing
// comes between.
func (s *segment) fuse(a *adamStep) bool {
	for i := len(s.after) - 1; i >= 0; i-- {
		switch j := s.after[i].(type) {
		case *reduceOp:
			if j.net == a.net {
				a.reduce = j
				s.after[i] = a
				s.after = slices.Insert(s.after, i+1, wholeOp((*adamChange)(a)))
				return true
			}
		case *adamStep, *adamChange:
		default:
			return false
		}
	}
	return false
}

// forget sets the shards' gradients to 0 where a failure, of another program perhaps, keeps them from being added up.
func (s *segment) forget() {
	for _, a := range s.adds {
		for _, g := range a.net.shards {
			clear(g)
		}
	}
}

// takesAdam says whether a step of Adam can be among the segment's: where the batch is one tile and each
// agent's gradients have one place. Then all of an agent's are there when it comes to its step, and threads
// need not wait for each other.
func (s *segment) takesAdam(a *adamStep) bool {
	if s.sealed || !s.byAgent || s.tiles != 1 || s.agents != a.net.v.Agents || !a.net.direct(s) {
		return false
	}
	add := s.find(a.net)
	return add != nil && add.zero && add.adds
}

// shards is the number of shards that gradients are summed in.
func (s *segment) shards() int {
	if !s.byAgent {
		return shardCount(s.tiles)
	}
	// Agents that attend together want shards of as many as can, where there are still enough for all threads.
	// It changes no bit: gradients have one place each.
	const many = kernel.MostTogether
	if n := (s.agents + many - 1) / many; s.ranged && n >= 4*s.b.options.Threads && s.allDirect() {
		return min(n, maxShards)
	}
	return min(s.agents, maxShards)
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
	s.ranged = s.ranged || st.ranged
	if last := len(s.groups) - 1; st.agents > 0 && last >= 0 && s.groups[last].agents == st.agents && !st.barrier {
		g := &s.groups[last]
		g.stages = append(g.stages, st)
		return
	}
	s.groups = append(s.groups, group{[]stage{st}, st.agents})
}

// run does the steps.
func (s *segment) run(c crew) {
	if len(s.steps) == 0 {
		return
	}
	if !s.byAgent {
		c.do(s, s.shards())
		return
	}
	for s.inTile = range s.tiles {
		for s.group = range s.groups {
			if g := &s.groups[s.group]; g.agents == 0 {
				x := &s.ctx[c.worker]
				x.shard = 0
				g.run(x, s.inTile, 0, s.agents)
			} else {
				c.do(s, s.shards())
			}
		}
	}
}

// Part implements [pool.Job]: one shard of a tile's agents, or of the batch.
func (s *segment) Part(i, w int) {
	x := &s.ctx[w]
	x.shard = i
	if s.byAgent {
		from, to := pool.Shard(i, s.shards(), s.agents)
		s.groups[s.group].run(x, s.inTile, from, to)
		return
	}
	from, to := pool.Shard(i, s.shards(), s.tiles)
	for tile := from; tile < to; tile++ {
		for g := range s.groups {
			s.groups[g].run(x, tile, 0, s.agents)
		}
	}
}

// run does a group's stages for some agents.
func (g *group) run(x *context, tile, from, to int) {
	if g.agents == 0 {
		for i := range g.stages {
			g.stages[i].run(x, tile, from, to)
		}
		return
	}
	for n := 0; n < len(g.stages); {
		if g.stages[n].ranged {
			g.stages[n].run(x, tile, from, to)
			n++
			continue
		}
		end := n + 1
		for end < len(g.stages) && !g.stages[end].ranged {
			end++
		}
		for a := from; a < to; a++ {
			for i := n; i < end; i++ {
				g.stages[i].run(x, tile, a, a+1)
			}
		}
		n = end
	}
}
