package placement

import "slices"

// view is what a [Cluster] says, with all that follows from it: what an observation is made from. [Env] keeps one up to
// date from event to event, since to compute it anew would take several times as long as a step (BenchmarkStep);
// [Observer] computes it from a [Cluster]. What follows, and the observation, are written by the same functions:
// refit, occupy, keep, hold, cached.waits and see.
type view struct {
	s      *System
	c      *Config
	layout Layout
	cached cached
	at     int64 // time of the observation, µs

	requests    []request
	invocations []invocation // of the requests, [requests, steps]
	window      []int32      // invocations that wait and are seen, the first to wait first
	active      []int32      // those that run, in the order of their start

	// The rest follows from what waits, runs and is warm.
	sums
	rows      []float32 // features of invocations that do not change while they wait
	levels    []int32   // invocations of each level that are done, [requests, steps]
	nodes     []node
	pairs     []pair   // [functions, nodes]
	fits      []int8   // [functions, nodes]: how many of the amounts, from the smallest on, fit now
	warm      []uint64 // nodes on which a function has idle instances, as bits
	functions []functionState
}

func newView(s *System) view {
	v := view{s: s, c: &s.config, layout: s.layout()}
	n, f := len(s.nodes), len(s.functions)
	v.nodes, v.pairs, v.fits, v.functions = make([]node, n), make([]pair, f*n), make([]int8, f*n), make([]functionState, f)
	v.warm = make([]uint64, f*v.layout.words())
	v.window = make([]int32, 0, s.config.Window)
	v.cached = newCached(s, &v.layout)
	return v
}

// node is the state of a node.
type node struct {
	free    vector // what neither running nor warm instances hold
	warm    int32  // MB of warm instances
	running int32
	recent  float64 // share of its CPU in use, averaged over about [recentSeconds]
}

// pair counts the instances of a function on a node.
type pair struct {
	idle, running int32 // warm instances that are idle, and running ones
}

// functionState is the state of a function.
type functionState struct {
	waiting int32 // invocations
	shown   int32 // of them in the window
	running int32
	idle    int32
	fits    int32   // nodes where it fits
	since   int64   // when an invocation last began to wait, −1 where none has
	cold    float64 // share of cold starts, a moving average
}

func newFunctionState() functionState { return functionState{since: -1} }

// coldMemory is the weight of the last start in functionState.cold.
const coldMemory = 0.2

// instance is a warm instance that is idle.
type instance struct {
	function, node int32
	expires        int64
}

func (e *view) pair(f, n int32) *pair { return &e.pairs[int(f)*len(e.nodes)+int(n)] }

// fitting returns, for each node, how many of the amounts fit an invocation of a function.
func (e *view) fitting(f int32) []int8 {
	n := len(e.nodes)
	return e.fits[int(f)*n : int(f)*n+n]
}

// refit computes what fits a node. This is the only place where legality is computed: masks, the legality table and the
// check of an action read its result. Demands grow with the amount, and a cold start may take memory that idle
// instances hold.
func (e *view) refit(n int32) {
	at, nodes := &e.nodes[n], len(e.nodes)
	memory := at.free[Memory] + at.warm
	for f := range e.functions {
		k, count, demand := f*nodes+int(n), int8(0), e.s.functions[f].demand
		if e.pairs[k].idle > 0 || demand[0][Memory] <= memory {
			for a := range demand {
				d := &demand[a]
				if d[CPU] > at.free[CPU] || d[Network] > at.free[Network] || d[GPU] > at.free[GPU] {
					break
				}
				count++
			}
		}
		was := e.fits[k]
		e.fits[k] = count
		if was == 0 && count > 0 {
			e.functions[f].fits++
		} else if was > 0 && count == 0 {
			e.functions[f].fits--
		}
	}
	e.cached.node(e, n)
}

// placeable reports whether any invocation in the window fits any node.
func (e *Env) placeable() bool {
	for f := range e.functions {
		if l := &e.functions[f]; l.shown > 0 && l.fits > 0 {
			return true
		}
	}
	return false
}

// take gives an invocation its resources, and a warm instance if there is one.
func (e *Env) take(v *invocation) {
	at, l := &e.nodes[v.node], &e.functions[v.function]
	d := e.s.functions[v.function].demand[v.amount]
	v.cold = e.pair(v.function, v.node).idle == 0
	if v.cold {
		for at.free[Memory] < d[Memory] {
			e.remove(slices.IndexFunc(e.idle, func(i instance) bool { return i.node == v.node }))
			e.tally.evictions++
		}
		e.tally.cold++
		l.cold += float64(coldMemory * (1 - l.cold))
	} else {
		// The instance that was used last: the others may expire.
		i := len(e.idle) - 1
		for e.idle[i].node != v.node || e.idle[i].function != v.function {
			i--
		}
		e.remove(i)
		l.cold -= float64(coldMemory * l.cold)
	}
	e.tally.started++
	for r, x := range d {
		v.shares[r] = share(x, e.s.nodes[v.node].capacity[r])
	}
	e.occupy(v, 1)
	e.refit(v.node)
}

// give takes the resources back. The instance stays warm, unless KeepAlive is 0.
func (e *Env) give(v *invocation) {
	e.occupy(v, -1)
	if e.c.KeepAlive > 0 {
		x := instance{v.function, v.node, e.now + micros(e.c.KeepAlive)}
		e.idle = append(e.idle, x)
		e.keep(x, 1)
	}
	e.refit(v.node)
}

// occupy takes the resources of an invocation that starts (sign 1), or gives them back at its end (−1).
func (e *view) occupy(v *invocation, sign int32) {
	f := &e.s.functions[v.function]
	at := &e.nodes[v.node]
	for r, x := range f.demand[v.amount] {
		at.free[r] -= sign * x
		e.used[r] += int64(sign * x)
	}
	at.running += sign
	e.pair(v.function, v.node).running += sign
	e.functions[v.function].running += sign
	e.rate += int64(sign) * e.priced(f.cost[v.amount], v.node)
	e.hold(v, sign)
}

// keep counts the memory of a warm instance that becomes idle (sign 1), or stops being idle (−1).
func (e *view) keep(x instance, sign int32) {
	f := &e.s.functions[x.function]
	at, p := &e.nodes[x.node], e.pair(x.function, x.node)
	at.warm += sign * f.demand[0][Memory]
	at.free[Memory] -= sign * f.demand[0][Memory]
	p.idle += sign
	e.functions[x.function].idle += sign
	e.rate += int64(sign) * e.priced(f.idle, x.node)
	word, bit := &e.warm[int(x.function)*e.layout.words()+int(x.node)/64], uint64(1)<<(x.node%64)
	*word &^= bit
	if p.idle > 0 {
		*word |= bit
	}
}

// remove takes an instance off the list of idle ones; its memory becomes free.
func (e *Env) remove(i int) {
	x := e.idle[i]
	e.idle = slices.Delete(e.idle, i, i+1)
	e.keep(x, -1)
}

// priced is a cost on a node in whole pUSD a second, so that sums of costs added and subtracted are exact.
func (e *view) priced(cost float64, n int32) int64 {
	return int64(float64(cost * e.s.nodes[n].price))
}

// hold updates what a request holds when one of its invocations starts (sign 1) or ends (−1).
func (e *view) hold(v *invocation, sign int32) {
	q := &e.requests[v.request]
	q.held = 0
	for r, x := range e.s.functions[v.function].demand[v.amount] {
		q.used[r] += sign * x
		if e.s.total[r] > 0 {
			q.held = max(q.held, float64(q.used[r])/e.s.total[r])
		}
	}
}

// share is x / of, 0 where both are 0.
func share(x, of int32) float32 {
	if of == 0 {
		return 0
	}
	return float32(x) / float32(of)
}
