package native

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// tileAttention mixes neighbours' features by learned weights; attention.go has the equations.
type tileAttention struct {
	*tileField
	keys       int
	query, key param[float32]
	squared    bool
	scale      float32
	// apart says that agents list themselves while their own features differ from those that others see: then there is a second key
	// of each, after all the first ones.
	apart bool
	kAt   [][]int32 // of agent i's neighbours: where their keys begin
	edges []int     // before agent i
}

func newTileAttention(n *net[float32], f *tileField) *tileAttention {
	m := f.m
	a := &tileAttention{
		tileField: f, keys: m.Keys, query: n.param("query.weight"), key: n.param("key.weight"), squared: m.Score == nets.Squared,
		scale: 1, apart: m.Others && selfish(m.Neighbours), edges: []int{0},
	}
	if !a.squared {
		a.scale = 1 / sqrt(float32(m.Keys))
	}
	for i, list := range m.Neighbours {
		at := make([]int32, len(list))
		for e, j := range list {
			if at[e] = int32(j * m.Keys * f.lanes); a.apart && i == j {
				at[e] += int32(m.Agents * m.Keys * f.lanes)
			}
		}
		a.kAt = append(a.kAt, at)
		a.edges = append(a.edges, a.edges[i]+len(list))
	}
	return a
}

// of returns agent i's rows of what is kept for each neighbour.
func (a *tileAttention) of(v []float32, i int) []float32 {
	return v[a.edges[i]*a.lanes : a.edges[i+1]*a.lanes]
}

func (a *tileAttention) memory(m *memory, brief bool) {
	rows := a.agents * a.keys * a.lanes
	m.q = make([]float32, rows)
	if a.apart {
		rows *= 2
	}
	m.k = make([]float32, rows)
	if !brief {
		m.dk = make([]float32, rows)
	}
	edges := a.edges[a.agents] * a.lanes
	m.weights = make([]float32, edges)
	if a.squared {
		m.scores, m.divisor = make([]float32, edges), make([]float32, a.agents*a.lanes)
	}
}

// project sets out = in·W for one agent.
func (a *tileAttention) project(p *kernel.Product, out, in []float32, w param[float32], i int) {
	if a.lanes == 1 {
		a.k.Vector(out[:a.keys], in[:a.own], w.value(i), nil, false)
		return
	}
	*p = kernel.Product{M: a.keys, N: a.lanes, K: a.own, A: w.value(i), AK: a.keys, AM: 1, B: in, LDB: a.lanes, C: out, LDC: a.lanes}
	a.k.Product(p)
}

func (a *tileAttention) forward(x *context, m *memory) {
	n := a.keys * a.lanes
	for i := range a.agents {
		a.project(&x.product, m.q[i*n:], m.x[a.start(i):], a.query, i)
		a.project(&x.product, m.k[i*n:], m.x[a.startSeen(i):], a.key, i)
		if a.apart {
			a.project(&x.product, m.k[(a.agents+i)*n:], m.x[a.start(i):], a.key, i)
		}
	}
	for i := range a.agents {
		w := a.of(m.weights, i)
		if !a.squared {
			a.k.Scores(w, m.q[i*n:], m.k, a.kAt[i], a.keys, a.lanes, a.scale)
			a.k.Softmax(w, len(a.kAt[i]), a.lanes)
			continue
		}
		r := a.of(m.scores, i)
		a.k.Scores(r, m.q[i*n:], m.k, a.kAt[i], a.keys, a.lanes, 1)
		squares(w, r, m.divisor[i*a.lanes:][:a.lanes])
	}
}

// squares sets w = r²/(Σ r² + 0.001), lane by lane, and keeps the sums.
func squares(w, r, sums []float32) {
	t := len(sums)
	for l := range sums {
		sums[l] = nets.SquaredOffset
	}
	for e := 0; e < len(r); e += t {
		for l, v := range r[e : e+t] {
			sums[l] += v * v
		}
	}
	for e := 0; e < len(r); e += t {
		for l, v := range r[e : e+t] {
			w[e+l] = v * v / sums[l]
		}
	}
}

// squaresBack replaces g = ∂L/∂w by ∂L/∂r = 2r(g − Σ w g)/sum.
func squaresBack(g, w, r, sums []float32) {
	t := len(sums)
	for l, sum := range sums {
		var mean float32
		for e := l; e < len(g); e += t {
			mean += w[e] * g[e]
		}
		for e := l; e < len(g); e += t {
			g[e] = 2 * r[e] * (g[e] - mean) / sum
		}
	}
}

// backward takes the gradients by the mixtures, which lie behind those by the features, adds to those of the projections in sums, and adds what
// comes by way of queries and keys to the wanted gradients by features.
func (a *tileAttention) backward(x *context, m *memory, w wants, sums []float32) {
	k, n := a.k, a.keys*a.lanes
	clear(m.dk)
	for i := range a.agents {
		list := a.kAt[i]
		rho, weights := x.weights[:len(list)*a.lanes], a.of(m.weights, i)
		k.Scores(rho, m.dx[a.start(i)+a.own*a.lanes:], m.x, a.at[i], a.own, a.lanes, 1)
		if a.squared {
			squaresBack(rho, weights, a.of(m.scores, i), m.divisor[i*a.lanes:][:a.lanes])
		} else {
			k.SoftmaxBack(rho, weights, len(list), a.lanes, a.scale)
		}
		dq := x.grads[0][:n]
		k.Mix(dq, rho, m.k, list, a.keys, a.lanes)
		k.Scatter(m.dk, list, rho, m.q[i*n:], a.keys, a.lanes)
		a.descend(x, m, i, a.start(i), a.query, dq, w.own, sums)
	}
	for i := range a.agents {
		a.descend(x, m, i, a.startSeen(i), a.key, m.dk[i*n:][:n], w.seen, sums)
		if a.apart {
			a.descend(x, m, i, a.start(i), a.key, m.dk[(a.agents+i)*n:][:n], w.own, sums)
		}
	}
}

// descend takes the gradient by a projection of the features at a place to that by its weights, in sums, and by the features from a row on.
func (a *tileAttention) descend(x *context, m *memory, i, at int, w param[float32], g []float32, from int, sums []float32) {
	if sums != nil {
		addOuter(a.k, x, a.lanes, w.in(sums, i), a.own, a.keys, m.x[at:], g)
	}
	if from == a.own {
		return
	}
	x.product = kernel.Product{
		M: a.own - from, N: a.lanes, K: a.keys, A: w.value(i)[from*a.keys:], AK: 1, AM: a.keys, B: g, LDB: a.lanes,
		C: m.dx[at+from*a.lanes:], LDC: a.lanes, Start: kernel.Add,
	}
	a.k.Product(&x.product)
}
