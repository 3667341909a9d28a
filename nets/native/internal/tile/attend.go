package tile

import "github.com/stoker-rl/stoker/nets/native/kernel"

// Attention of agents that have the same neighbours but for themselves: what attention.go does for one agent,
// for a range of agents at once.

// share finds agents that can attend together, and says what memory that takes.
func (a *attention) share(need *scratchNeed, alone bool) {
	if a.lanes == 1 || alone {
		return
	}
	if a.seen = newSharedNeighbours(a.keysAt); a.seen == nil {
		return
	}
	// Two keys of an agent may differ while features don't: then keys decide, and features are the same where keys are.
	a.features = &sharedNeighbours{a.at, a.seen.runs}
	a.seers = newSharedNeighbours(a.queriesAt[0])
	const n = kernel.MostTogether
	need.packed, need.rho, need.dq = n*max(a.keys, a.own, atOnce), n*a.seen.longest(), n*a.keys
}

// attend weighs and mixes for agents from to to.
func (a *attention) attend(x *context, m *memory, from, to int) {
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
func (a *attention) attendBack(x *context, m *memory, from, to int, w wants, sums []float32) {
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
			a.storeRho(m, i+j, rho.of(j, 0, a.lanes))
		}
		i += n
	}
}

// keysBack is keyBack for agents from to to.
func (a *attention) keysBack(x *context, m *memory, from, to int, w wants, sums []float32) {
	for j := from; j < to; {
		n, runs := 1, []run(nil)
		if a.seers != nil {
			n, runs = a.seers.next(j, to)
		}
		for i := j; i < j+n; i++ {
			a.clearSeen(m, i)
		}
		if n == 1 {
			a.keyBack(x, m, j, w, sums)
			j++
			continue
		}
		list := len(a.queriesAt[0][j]) * a.lanes
		dk := rows{x.dq, 0, a.keys * a.lanes}
		a.seers.mix(x, a.k, j, n, runs, dk, rows{m.rho, a.rhoAt[0][j] * a.lanes, list}, m.q, a.keys, a.lanes)
		for i := range n {
			a.descend(x, m, j+i, a.startSeen(j+i), a.key, dk.of(i, 0, a.lanes)[:a.keys*a.lanes], w.seen, sums)
			a.ownKeyBack(x, m, j+i, w, sums)
		}
		j += n
	}
}
