package tile

import (
	"math"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// attention mixes neighbours' features by learned weights; plain/attention.go has the equations. Forward and for the
// gradient of its query an agent visits the agents that it sees, for that of its key the agents that see it.
type attention struct {
	*field
	keys       int
	query, key param
	squared    bool
	scale      float32
	// apart says that agents list themselves while their own features differ from those that others see: then
	// there is a second key of each, after all the first ones.
	twoKeys bool
	keysAt  [][]int32 // of agent i's neighbours: where their keys begin
	// Of those that see agent j, by its first and its second key: where their queries begin, and where they
	// stand in m.rho.
	queriesAt [2][][]int32
	rhoAt     [2][]int
	rhoOf     []int // where an edge's gradient stands in m.rho
	// Of agents that attend together: whose keys they see, whose features, and whose queries see them by their
	// first key. nil where none do.
	seen, features, seers *sharedNeighbours
}

func newAttention(n *network, f *field) *attention {
	m := f.m
	a := &attention{
		field: f, keys: m.Keys, query: n.param("query.weight"), key: n.param("key.weight"), squared: m.Score == nets.Squared,
		scale: 1, twoKeys: m.Others && m.SeesSelf(), rhoOf: make([]int, f.edges[m.Agents]),
	}
	if !a.squared {
		a.scale = 1 / float32(math.Sqrt(float64(float32(m.Keys))))
	}
	for i, list := range m.Neighbours {
		at := make([]int32, len(list))
		for e, j := range list {
			at[e] = int32(a.keyAt(j, a.second(i, j)))
		}
		a.keysAt = append(a.keysAt, at)
	}
	next := 0
	for which := range 2 {
		a.queriesAt[which] = make([][]int32, m.Agents)
		for j := range m.Agents {
			a.rhoAt[which] = append(a.rhoAt[which], next)
			for _, s := range f.seers[j] {
				if a.second(s.agent, j) == which {
					a.queriesAt[which][j] = append(a.queriesAt[which][j], int32(s.agent*m.Keys*f.lanes))
					a.rhoOf[s.edge] = next
					next++
				}
			}
		}
	}
	return a
}

// second is the number of the key by which agent i sees agent j.
func (a *attention) second(i, j int) int {
	if a.twoKeys && i == j {
		return 1
	}
	return 0
}

// keyAt is where a key of agent j begins.
func (a *attention) keyAt(j, which int) int { return (which*a.agents + j) * a.keys * a.lanes }

func (a *attention) memory(m *memory) {
	rows := a.agents * a.keys * a.lanes
	m.q = make([]float32, rows)
	if a.twoKeys {
		rows *= 2
	}
	m.k = make([]float32, rows)
	edges := a.edges[a.agents] * a.lanes
	m.weights, m.rho = make([]float32, edges), make([]float32, edges)
	if a.squared {
		m.raw, m.divisors = make([]float32, edges), make([]float32, a.agents*a.lanes)
	}
}

// project computes agent i's query and keys.
func (a *attention) project(x *context, m *memory, i int) {
	a.times(x, m.q[a.keyAt(i, 0):], m.x[a.start(i):], a.query, i)
	a.times(x, m.k[a.keyAt(i, 0):], m.x[a.startSeen(i):], a.key, i)
	if a.twoKeys {
		a.times(x, m.k[a.keyAt(i, 1):], m.x[a.start(i):], a.key, i)
	}
}

// times sets out = in·W.
func (a *attention) times(x *context, out, in []float32, w param, i int) {
	if a.lanes == 1 {
		a.k.Vector(out[:a.keys], in[:a.own], w.value(i), nil, false)
		return
	}
	p := x.product.Begin(a.keys, a.lanes, a.own)
	p.A, p.AK, p.AM = w.value(i), a.keys, 1
	p.B, p.LDB = in, a.lanes
	p.C, p.LDC = out, a.lanes
	a.k.Product(p)
}

// weigh computes agent i's weights.
func (a *attention) weigh(m *memory, i int) {
	q := m.q[a.keyAt(i, 0):]
	if a.squared {
		a.k.Scores(a.of(m.raw, i), q, m.k, a.keysAt[i], a.keys, a.lanes, 1)
	} else {
		a.k.Scores(a.of(m.weights, i), q, m.k, a.keysAt[i], a.keys, a.lanes, a.scale)
	}
	a.normalise(m, i)
}

// normalise makes weights of agent i's scores.
func (a *attention) normalise(m *memory, i int) {
	w := a.of(m.weights, i)
	if a.squared {
		squares(w, a.of(m.raw, i), m.divisors[i*a.lanes:][:a.lanes])
		return
	}
	a.k.Softmax(w, len(a.keysAt[i]), a.lanes)
}

// squares sets w = r²/(Σ r² + 0.001), lane by lane, and stores the sums.
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

// backward takes the gradient w.r.t. agent i's mixture to those w.r.t. its scores, which it leaves in m.rho, and by its
// query: adds that w.r.t. the query's weights to sums, and what comes by way of it to the wanted gradient w.r.t. its
// features.
func (a *attention) backward(x *context, m *memory, i int, w wants, sums []float32) {
	list := a.keysAt[i]
	rho := x.weights[:len(list)*a.lanes]
	a.k.Scores(rho, a.mixture(m.dx, i), m.x, a.at[i], a.own, a.lanes, 1)
	a.byScores(m, i, rho)
	dq := x.grads[0][:a.keys*a.lanes]
	a.k.Mix(dq, rho, m.k, list, a.keys, a.lanes)
	a.descend(x, m, i, a.start(i), a.query, dq, w.own, sums)
	a.storeRho(m, i, rho)
}

// byScores takes the gradient w.r.t. agent i's weights to that w.r.t. its scores.
func (a *attention) byScores(m *memory, i int, rho []float32) {
	if weights := a.of(m.weights, i); a.squared {
		squaresBack(rho, weights, a.of(m.raw, i), m.divisors[i*a.lanes:][:a.lanes])
	} else {
		a.k.SoftmaxBack(rho, weights, len(a.keysAt[i]), a.lanes, a.scale)
	}
}

// storeRho leaves the gradient w.r.t. agent i's scores where those that it sees look for it.
func (a *attention) storeRho(m *memory, i int, rho []float32) {
	for e := range a.keysAt[i] {
		copy(m.rho[a.rhoOf[a.edges[i]+e]*a.lanes:][:a.lanes], rho[e*a.lanes:])
	}
}

// keyBack takes the gradients w.r.t. the scores of those that see agent j to those w.r.t. its keys.
func (a *attention) keyBack(x *context, m *memory, j int, w wants, sums []float32) {
	a.oneKeyBack(x, m, j, 0, a.startSeen(j), w.seen, sums)
	a.ownKeyBack(x, m, j, w, sums)
}

// ownKeyBack does so for agent j's second key.
func (a *attention) ownKeyBack(x *context, m *memory, j int, w wants, sums []float32) {
	a.oneKeyBack(x, m, j, 1, a.start(j), w.own, sums)
}

// oneKeyBack does so for one key, of features at a place.
func (a *attention) oneKeyBack(x *context, m *memory, j, which, place, from int, sums []float32) {
	at := a.queriesAt[which][j]
	if len(at) == 0 {
		return
	}
	dk := x.grads[0][:a.keys*a.lanes]
	a.k.Mix(dk, m.rho[a.rhoAt[which][j]*a.lanes:][:len(at)*a.lanes], m.q, at, a.keys, a.lanes)
	a.descend(x, m, j, place, a.key, dk, from, sums)
}

// descend takes the gradient w.r.t. a projection of the features at a place to that w.r.t. its weights, in sums, and by
// the features from a row on.
func (a *attention) descend(x *context, m *memory, i, at int, w param, g []float32, from int, sums []float32) {
	if sums != nil {
		addOuter(a.k, x, a.lanes, w.in(sums, i), a.own, a.keys, m.x[at:], g)
	}
	if from == a.own {
		return
	}
	p := x.product.Begin(a.own-from, a.lanes, a.keys)
	p.A, p.AK, p.AM = w.value(i)[from*a.keys:], 1, a.keys
	p.B, p.LDB = g, a.lanes
	p.C, p.LDC, p.Start = m.dx[at+from*a.lanes:], a.lanes, kernel.Add
	a.k.Product(p)
}
