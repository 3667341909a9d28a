package placement

import "slices"

// node is what a node has left.
type node struct {
	free    vector // memory of neither running nor warm instances
	warm    int32  // MB of warm instances
	running int32
	recent  float64 // share of its CPU in use, the last ten seconds or so
}

// pair is a function on a node.
type pair struct {
	idle, running int32 // instances that are warm, and that run
}

// load is what a function has to do, and has done.
type load struct {
	waiting int32 // invocations
	shown   int32 // of them in the window
	running int32
	idle    int32
	fits    int32   // nodes where it fits
	since   int64   // when an invocation last came to wait, −1 where none has
	cold    float64 // share of its starts that were cold, the last ones weighing more
}

func newLoad() load { return load{since: -1} }

// coldMemory is what the last start weighs in load.cold.
const coldMemory = 0.2

// instance is a warm instance that is idle.
type instance struct {
	function, node int32
	expires        int64
}

func (e *Env) pair(f, n int32) *pair { return &e.pairs[int(f)*len(e.nodes)+int(n)] }

// fitting is, for each node, how many of the amounts fit an invocation of a function.
func (e *Env) fitting(f int32) []int8 {
	n := len(e.nodes)
	return e.fits[int(f)*n : int(f)*n+n]
}

// refit finds out anew what fits a node. This is the only place where legality is computed: masks, what is seen of them and the check of
// an action follow from it. Demands grow with the amount, and a cold start may take memory that idle instances hold.
func (e *Env) refit(n int32) {
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
	e.sketch.node(e, n)
}

// placeable reports whether an invocation that is seen fits anywhere.
func (e *Env) placeable() bool {
	for f := range e.functions {
		if l := &e.functions[f]; l.shown > 0 && l.fits > 0 {
			return true
		}
	}
	return false
}

// take gives an invocation its resources, and a warm instance if there is one.
func (e *Env) take(v *call) {
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
		// The one that was used last: the others may expire.
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

// give takes them back; the instance stays warm, unless none does.
func (e *Env) give(v *call) {
	e.occupy(v, -1)
	if e.c.KeepAlive > 0 {
		x := instance{v.function, v.node, e.now + micros(e.c.KeepAlive)}
		e.idle = append(e.idle, x)
		e.keep(x, 1)
	}
	e.refit(v.node)
}

// occupy counts the resources of an invocation that starts (sign 1) or ends (−1).
func (e *Env) occupy(v *call, sign int32) {
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

// keep counts the memory of a warm instance that becomes idle (sign 1), or is idle no more (−1).
func (e *Env) keep(x instance, sign int32) {
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

// remove ends a warm instance that is idle, or takes it into use; its memory is free.
func (e *Env) remove(i int) {
	x := e.idle[i]
	e.idle = slices.Delete(e.idle, i, i+1)
	e.keep(x, -1)
}

// priced is a cost on a node in whole pUSD a second, so that what is added and taken away again leaves nothing.
func (e *Env) priced(cost float64, n int32) int64 {
	return int64(float64(cost * e.s.nodes[n].price))
}

// hold counts what an invocation's request holds.
func (e *Env) hold(v *call, sign int32) {
	q := &e.requests[v.request]
	q.held = 0
	for r, x := range e.s.functions[v.function].demand[v.amount] {
		q.used[r] += sign * x
		if e.s.total[r] > 0 {
			q.held = max(q.held, float64(q.used[r])/e.s.total[r])
		}
	}
}

// share is an amount over another, 0 of nothing.
func share(x, of int32) float32 {
	if of == 0 {
		return 0
	}
	return float32(x) / float32(of)
}
