package placement

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
