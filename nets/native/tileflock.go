package native

import "github.com/stoker-rl/stoker/nets/native/kernel"

// Attention of agents that go over their neighbours together: the parts of [tileField] and [tileAttention] that one agent does alone elsewhere, for a
// range of agents at once.

// together says whether a pass has agents that go together.
func together(p tilePass) bool {
	f, ok := p.(*tileField)
	return ok && f.att != nil && f.att.seen != nil
}

// together finds agents that see the same, and says what memory going together takes.
func (f *tileField) together(need *scratchNeed) {
	a := f.att
	if a == nil || f.lanes == 1 {
		return
	}
	if a.seen = newFlock(a.keysAt); a.seen == nil {
		return
	}
	// Two keys of an agent may differ while features don't: then keys decide, and features are the same where keys are.
	a.features = &flock{f.at, a.seen.runs}
	a.seers = newFlock(a.queriesAt[0])
	const n = kernel.MostTogether
	need.packed, need.rho, need.dq = n*max(a.keys, f.own, atOnce), n*a.seen.longest(), n*a.keys
}

// ranged is a stage that does a range of agents in one go.
type ranged interface{ ranged() }

// attendStage is weighing and mixing of a forward pass, attendBackStage their way back, handKeysStage that of what others attended to.
type (
	attendStage     forwardStep
	attendBackStage backwardStep
	handKeysStage   backwardStep
)

func (*attendStage) ranged()     {}
func (*attendBackStage) ranged() {}
func (*handKeysStage) ranged()   {}

func (s *attendStage) apart() int     { return s.w.net.agents }
func (s *attendBackStage) apart() int { return s.of.w.net.agents }
func (s *handKeysStage) apart() int   { return s.of.w.net.agents }

func (*attendStage) fence() bool     { return true }
func (*attendBackStage) fence() bool { return false }
func (*handKeysStage) fence() bool   { return true }

func (s *attendStage) run(x *context, tile, from, to int) {
	m, _ := (*forwardStep)(s).at(x, tile)
	s.w.tiles.pass.(*tileField).att.attend(x, m, from, to)
}

func (s *attendBackStage) run(x *context, tile, from, to int) {
	b := (*backwardStep)(s)
	m, _ := s.of.at(x, tile)
	f := s.of.w.tiles.pass.(*tileField)
	f.att.attendBack(x, m, from, to, f.wants(b.gradIn), b.sums(x))
}

func (s *handKeysStage) run(x *context, tile, from, to int) {
	b := (*backwardStep)(s)
	m, _ := s.of.at(x, tile)
	f := s.of.w.tiles.pass.(*tileField)
	f.att.handKeys(x, m, from, to, f.wants(b.gradIn), b.sums(x))
}

// attend weighs and mixes for agents from to to.
func (a *tileAttention) attend(x *context, m *memory, from, to int) {
	for i := from; i < to; {
		n, runs := a.seen.next(i, to)
		if n == 1 {
			a.weigh(m, i)
			a.mix(m, i)
			i++
			continue
		}
		list := len(a.keysAt[i]) * a.lanes
		q := rows{m.q, a.keyAt(i, 0), a.keys * a.lanes}
		w := rows{m.weights, a.edges[i] * a.lanes, list}
		if a.squared {
			a.seen.scores(x, a.k, i, n, runs, rows{m.raw, w.at, list}, q, m.k, a.keys, a.lanes, 1)
		} else {
			a.seen.scores(x, a.k, i, n, runs, w, q, m.k, a.keys, a.lanes, a.scale)
		}
		for j := i; j < i+n; j++ {
			a.normalise(m, j)
		}
		a.features.mix(x, a.k, i, n, runs, rows{m.x, a.start(i) + a.own*a.lanes, a.start(1)}, w, m.x, a.own, a.lanes)
		i += n
	}
}

// attendBack is backward for agents from to to.
func (a *tileAttention) attendBack(x *context, m *memory, from, to int, w wants, sums []float32) {
	for i := from; i < to; {
		n, runs := a.seen.next(i, to)
		if n == 1 {
			a.backward(x, m, i, w, sums)
			i++
			continue
		}
		list := len(a.keysAt[i]) * a.lanes
		rho, dq := rows{x.rho, 0, list}, rows{x.dq, 0, a.keys * a.lanes}
		a.features.scores(x, a.k, i, n, runs, rho, rows{m.dx, a.start(i) + a.own*a.lanes, a.start(1)}, m.x, a.own, a.lanes, 1)
		for j := range n {
			a.byScores(m, i+j, rho.of(j, 0, a.lanes)[:list])
		}
		a.seen.mix(x, a.k, i, n, runs, dq, rho, m.k, a.keys, a.lanes)
		for j := range n {
			a.descend(x, m, i+j, a.start(i+j), a.query, dq.of(j, 0, a.lanes)[:a.keys*a.lanes], w.own, sums)
			a.keepRho(m, i+j, rho.of(j, 0, a.lanes))
		}
		i += n
	}
}

// handKeys is hand for agents from to to.
func (a *tileAttention) handKeys(x *context, m *memory, from, to int, w wants, sums []float32) {
	for j := from; j < to; {
		n, runs := 1, []run(nil)
		if a.seers != nil {
			n, runs = a.seers.next(j, to)
		}
		for i := j; i < j+n; i++ {
			a.clearSeen(m, i)
		}
		if n == 1 {
			a.hand(x, m, j, w, sums)
			j++
			continue
		}
		list := len(a.queriesAt[0][j]) * a.lanes
		dk := rows{x.dq, 0, a.keys * a.lanes}
		a.seers.mix(x, a.k, j, n, runs, dk, rows{m.rho, a.rhoAt[0][j] * a.lanes, list}, m.q, a.keys, a.lanes)
		for i := range n {
			a.descend(x, m, j+i, a.startSeen(j+i), a.key, dk.of(i, 0, a.lanes)[:a.keys*a.lanes], w.seen, sums)
			a.handOwn(x, m, j+i, w, sums)
		}
		j += n
	}
}
