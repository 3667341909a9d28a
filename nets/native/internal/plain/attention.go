package plain

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
)

// attention mixes the neighbours' features by learned weights (FaaSConf, eqs. 8–10). With row vectors x_i, and x̃_j for
// a neighbour as others see it:
//
//	q_i = x_i·W_q of agent i,  k_j = x̃_j·W_k of agent j,  r_ij = q_i·k_j,  w_i = score(r_i),  m_i = Σ_j w_ij x̃_j
//
// and back, with g_i = ∂L/∂m_i and the score's own derivative from ∂L/∂w_ij = g_i·x̃_j to ρ_ij = ∂L/∂r_ij:
//
//	∂L/∂x̃_j += w_ij g_i,  ∂L/∂q_i = Σ_j ρ_ij k_j,  ∂L/∂k_j = Σ_i ρ_ij q_i
//	∂L/∂W_q += x_iᵀ ∂L/∂q_i,  ∂L/∂x_i += ∂L/∂q_i W_qᵀ,  and the same for keys
type attention[T core.Number] struct {
	neighbours [][]int
	batch, own int
	keys       int
	score      score[T]
	query, key linear[T]
	// apart says that agents list themselves while their own features differ from those that others see: then they
	// have a second key, of x_i.
	apart bool

	q, k, kSelf []T
	weights     [][]T // of agent i: [batch, neighbours]
	raw         [][]T // r, alike
	sums        [][]T // of agent i: [batch], what the score was divided by

	dq, dk, dkSelf []T // made by the first backward pass
	dw             []T // of one agent and sample
}

// score turns one agent's products with its neighbours into weights.
type score[T core.Number] interface {
	// forward sets w from r and returns what backward needs.
	forward(r, w []T) T
	// backward replaces g = ∂L/∂w by ∂L/∂r.
	backward(r, w []T, kept T, g []T)
}

func newAttention[T core.Number](n *net[T], m nets.MeanField, batch int) *attention[T] {
	own := m.OwnWidth()
	project := func(name string) linear[T] {
		return linear[T]{mul: n.mul, agents: m.Agents, in: own, out: m.Keys, weight: n.param("%s.weight", name)}
	}
	a := &attention[T]{
		neighbours: m.Neighbours, batch: batch, own: own, keys: m.Keys, apart: m.Others && m.SeesSelf(),
		query: project("query"), key: project("key"),
	}
	if m.Score == nets.Squared {
		a.score = squaredScore[T]{}
	} else {
		a.score = expScore[T]{1 / sqrt(T(m.Keys))}
	}
	rows := m.Agents * batch * m.Keys
	a.q, a.k = make([]T, rows), make([]T, rows)
	a.kSelf = a.k
	if a.apart {
		a.kSelf = make([]T, rows)
	}
	most := 0
	for _, list := range m.Neighbours {
		a.weights = append(a.weights, make([]T, batch*len(list)))
		a.raw = append(a.raw, make([]T, batch*len(list)))
		a.sums = append(a.sums, make([]T, batch))
		most = max(most, len(list))
	}
	a.dw = make([]T, most)
	return a
}

func (a *attention[T]) learns() bool { return true }

func (a *attention[T]) forward(s scene[T], mixture view[T]) {
	a.query.forward(a.batch, s.x, a.q)
	a.key.forward(a.batch, s.seen, a.k)
	if a.apart {
		a.key.forward(a.batch, s.x, a.kSelf)
	}
	q, keys := a.scenes(a.q, a.k, a.kSelf)
	for i, list := range a.neighbours {
		d := len(list)
		for b := range a.batch {
			r, w := a.raw[i][b*d:][:d], a.weights[i][b*d:][:d]
			query := q.at(i, b, a.keys)
			for n, j := range list {
				r[n] = dot(query, keys.of(i, j, b, a.keys))
			}
			a.sums[i][b] = a.score.forward(r, w)
			out := mixture.at(i, b, a.own)
			clear(out)
			for n, j := range list {
				axpy(w[n], s.of(i, j, b, a.own), out)
			}
		}
	}
}

// scenes views queries, and keys as agents see them.
func (a *attention[T]) scenes(q, k, kSelf []T) (view[T], scene[T]) {
	return stacked(q, a.batch, a.keys), scene[T]{x: stacked(kSelf, a.batch, a.keys), seen: stacked(k, a.batch, a.keys)}
}

func (a *attention[T]) backward(s scene[T], dmixture view[T], d scene[T], params, inputs bool) {
	a.clearGrads()
	q, keys := a.scenes(a.q, a.k, a.kSelf)
	dq, dkeys := a.scenes(a.dq, a.dk, a.dkSelf)
	for i, list := range a.neighbours {
		n := len(list)
		for b := range a.batch {
			r, w, rho := a.raw[i][b*n:][:n], a.weights[i][b*n:][:n], a.dw[:n]
			g := dmixture.at(i, b, a.own)
			for l, j := range list {
				rho[l] = dot(g, s.of(i, j, b, a.own))
			}
			a.score.backward(r, w, a.sums[i][b], rho)
			query, dquery := q.at(i, b, a.keys), dq.at(i, b, a.keys)
			for l, j := range list {
				axpy(rho[l], keys.of(i, j, b, a.keys), dquery)
				axpy(rho[l], query, dkeys.of(i, j, b, a.keys))
				if inputs {
					axpy(w[l], g, d.of(i, j, b, a.own))
				}
			}
		}
	}
	if params {
		a.query.addParamGrads(a.batch, s.x, a.dq)
		a.key.addParamGrads(a.batch, s.seen, a.dk)
		if a.apart {
			a.key.addParamGrads(a.batch, s.x, a.dkSelf)
		}
	}
	if inputs {
		a.query.addInputGrads(a.batch, a.dq, d.x)
		a.key.addInputGrads(a.batch, a.dk, d.seen)
		if a.apart {
			a.key.addInputGrads(a.batch, a.dkSelf, d.x)
		}
	}
}

func (a *attention[T]) clearGrads() {
	if a.dq == nil {
		a.dq, a.dk = make([]T, len(a.q)), make([]T, len(a.k))
		a.dkSelf = a.dk
		if a.apart {
			a.dkSelf = make([]T, len(a.k))
		}
	}
	clear(a.dq)
	clear(a.dk)
	if a.apart {
		clear(a.dkSelf)
	}
}

// expScore is the softmax of scaled products (FaaSConf, eq. 9; scale is 1/√keys):
//
//	w_j = exp(scale·r_j)/Σ_l exp(scale·r_l),  ∂L/∂r_j = scale·w_j(g_j − Σ_l w_l g_l),  g = ∂L/∂w
type expScore[T core.Number] struct{ scale T }

func (s expScore[T]) forward(r, w []T) T {
	for j, v := range r {
		w[j] = s.scale * v
	}
	return softmax(w)
}

func (s expScore[T]) backward(_, w []T, _ T, g []T) {
	mean := dot(w, g)
	for j := range g {
		g[j] = s.scale * w[j] * (g[j] - mean)
	}
}

// squaredScore is what FaaSConf's code computes:
//
//	S = Σ_l r_l² + 0.001,  w_j = r_j²/S,  ∂L/∂r_j = 2r_j(g_j − Σ_l w_l g_l)/S
type squaredScore[T core.Number] struct{}

func (squaredScore[T]) forward(r, w []T) T {
	sum := dot(r, r) + nets.SquaredOffset
	for j, v := range r {
		w[j] = v * v / sum
	}
	return sum
}

func (squaredScore[T]) backward(r, w []T, sum T, g []T) {
	mean := dot(w, g)
	for j := range g {
		g[j] = 2 * r[j] * (g[j] - mean) / sum
	}
}

// softmax replaces z by exp(z)/Σ exp(z) and returns the sum after the largest was taken off. A NaN makes the
// sum NaN, and with it all.
func softmax[T core.Number](z []T) T {
	if len(z) == 0 {
		return 0
	}
	top := z[0]
	for _, v := range z {
		if v > top {
			top = v
		}
	}
	var sum T
	for j, v := range z {
		z[j] = exp(v - top)
		sum += z[j]
	}
	for j := range z {
		z[j] /= sum
	}
	return sum
}
