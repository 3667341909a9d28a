package gorgonia

import (
	"math"

	"github.com/stoker-rl/stoker/nets"
)

// meanField is [nets.MeanField] of the unit's agent.
func (u *unit[T]) meanField(m nets.MeanField) {
	if m.Mix == nets.Joint {
		var all []term
		for j := range m.Agents {
			for _, t := range u.seen(m, j) {
				t.row += j * m.OwnWidth()
				all = append(all, t)
			}
		}
		u.layers(m.MLP, all)
		return
	}
	in := u.seen(m, u.agent)
	neighbours := m.Neighbours[u.agent]
	if len(neighbours) == 0 { // the mixture is zero
		u.layers(m.MLP, in)
		return
	}
	var weights node // [batch, neighbours]
	if m.Mix == nets.Attention {
		weights = u.attention(m, neighbours)
	} else {
		weights = u.graph.filled(u.w.batch, len(neighbours), 1/float64(len(neighbours)))
	}
	u.layers(m.MLP, append(in, u.mixture(m, neighbours, weights)...))
}

// seen returns agent j's features as the unit's agent sees them: with Others, other agents' last features come from an
// extra input port.
func (u *unit[T]) seen(m nets.MeanField, j int) []term {
	var ts []term
	at := 0
	for i, p := range m.In {
		port := i
		if m.Others && j != u.agent && i == len(m.In)-1 {
			port = len(m.In)
		}
		ts = append(ts, term{u.feature(port, j, 0, p.Width), at, p.Width})
		at += p.Width
	}
	return ts
}

// mixture is Σ_j w_j x_j. Its rows in the first layer's weight follow those of the agent's own features.
func (u *unit[T]) mixture(m nets.MeanField, neighbours []int, weights node) []term {
	b := u.graph
	mixed := make([]term, len(m.In))
	for n, j := range neighbours {
		for i, t := range u.seen(m, j) {
			w := b.product(weights, b.marked(fixedKey{len(neighbours), t.width, n, -1, 1})) // w_j for each feature
			mixed[i] = term{b.sum(mixed[i].x, b.times(w, t.x)), m.OwnWidth() + t.row, t.width}
		}
	}
	return mixed
}

// attention is each neighbour's weight (FaaSConf, eqs. 8–10): with r_j = (x·W_q)·(x_j·W_k of agent j) the
// softmax of r/√keys, or r²/(Σr² + 0.001).
func (u *unit[T]) attention(m nets.MeanField, neighbours []int) node {
	b := u.graph
	project := func(agent int, name string) (y node) {
		for _, t := range u.seen(m, agent) {
			y = b.sum(y, b.product(t.x, u.parameter(agent, name, t.row, t.width)))
		}
		return y
	}
	query := project(u.agent, "query.weight")
	n := len(neighbours)
	var r node
	for i, j := range neighbours {
		r = b.sum(r, b.product(b.times(query, project(j, "key.weight")), b.marked(fixedKey{m.Keys, n, -1, i, 1})))
	}
	if m.Score == nets.Exp {
		return b.softmax(b.scaled(r, 1/math.Sqrt(float64(m.Keys))), n)
	}
	square := b.times(r, r)
	return b.over(square, b.plus(b.total(square, n, n), nets.SquaredOffset))
}
