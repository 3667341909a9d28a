package placement

import (
	"math/bits"
	"slices"

	"github.com/stoker-rl/stoker/envs"
)

// cached holds the features that do not change at every step, so that an observation is mostly copied.
type cached struct {
	nodes        []float32 // [nodes, widthOfNode], without the last features
	functions    []float32 // [functions, widthOfFunction], without those that change
	prefixes     []float32 // [functions, prefix]: the features of invocations that belong to their function
	dependencies []dependency
	last         []int32   // per function, scratch: the invocation seen last
	since        []int64   // and when it came to wait
	next         []int64   // per node, scratch: the first expected end
	local        []float64 // per node, scratch: MB of an invocation's input
	near         []uint64  // scratch: nodes with a warm instance or input for an invocation, as bits
}

// dependency is an edge between functions.
type dependency struct {
	from, to int32
	share    float64 // how often it is taken, per request
	data     float64 // MB, mean
}

// dependencies lists how often, and with how much data, a function follows another, sorted by function.
func (s *System) dependencies() []dependency {
	at := map[[2]int32]*dependency{}
	chance := 0.0
	for i := range s.workflows {
		share := s.chances[i] - chance
		chance = s.chances[i]
		for _, st := range s.workflows[i].steps {
			for _, n := range st.next {
				to := s.workflows[i].steps[n].function
				d := at[[2]int32{st.function, to}]
				if d == nil {
					d = &dependency{from: st.function, to: to}
					at[[2]int32{st.function, to}] = d
				}
				d.share += share
				d.data += float64(share * st.output)
			}
		}
	}
	out := make([]dependency, 0, len(at))
	for _, d := range at {
		if d.share > 0 {
			d.data /= d.share
		}
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b dependency) int {
		if a.from != b.from {
			return int(a.from - b.from)
		}
		return int(a.to - b.to)
	})
	return out
}

func newCached(s *System, l *Layout) cached {
	k := cached{
		nodes: make([]float32, l.Nodes*widthOfNode), functions: make([]float32, l.Functions*widthOfFunction),
		prefixes: make([]float32, l.Functions*l.prefix()), dependencies: s.dependencies(),
		last: make([]int32, l.Functions), since: make([]int64, l.Functions), next: make([]int64, l.Nodes),
		local: make([]float64, l.Nodes), near: make([]uint64, l.words()),
	}
	dearest := 0.0
	for _, m := range s.nodes {
		dearest = max(dearest, m.price)
	}
	for n, m := range s.nodes {
		row := k.nodes[n*widthOfNode:]
		for r, x := range m.capacity {
			row[r] = share(x, s.largest[r])
		}
		row[ofSpeed], row[ofPrice] = float32(m.speed/l.Fastest), float32(over(m.price, dearest))
	}
	for i := range s.functions {
		f := &s.functions[i]
		row, prefix := k.functions[i*widthOfFunction:], k.prefixes[i*l.prefix():]
		prefix[0] = 1
		for r := range NumResources {
			row[r] = share(f.demand[s.nominal][r], s.largest[r])
			for a := range l.Amounts {
				// Cut at 2: twice the largest node is out of reach, as anything above it.
				prefix[l.demand(r, a)] = min(2, share(f.demand[a][r], s.largest[r]))
			}
		}
		prefix[l.cold()] = squash(seconds(f.cold), timeScale)
		row[ofMeanWork], row[ofParallel], row[ofCold] = squash(f.work, timeScale), float32(f.parallel), prefix[l.cold()]
	}
	return k
}

// node updates the features of a node.
func (k *cached) node(e *view, n int32) {
	at, row := &e.nodes[n], k.nodes[n*widthOfNode:]
	for r, x := range at.free {
		row[ofFree+r] = share(x, e.s.largest[r])
	}
	row[ofIdle] = share(at.warm, e.s.largest[Memory])
	row[ofRunning] = squash(float64(at.running), countScale)
}

// waits computes the features of an invocation that do not change while it waits.
func (k *cached) waits(e *view, i int32) {
	v := &e.invocations[i]
	q := &e.requests[v.request]
	row := e.still(i)
	for a, x := range e.s.functions[v.function].stretch {
		row[a] = squash(float64(v.work*x), timeScale)
	}
	row = row[len(e.c.Amounts):]
	row[ofSize] = float32(q.size / e.c.Size.High)
	row[ofWork] = squash(v.work, timeScale)
	row[ofPath] = squash(float64(e.s.workflows[q.workflow].steps[v.step].tail*q.size), timeScale)
	row[ofPriority] = float32(over(e.c.Priorities[q.priority].Weight, e.s.heaviest))
	row[ofInput] = squash(v.input, dataScale)
}

func (e *view) still(i int32) []float32 {
	w := e.layout.still()
	return e.rows[int(i)*w : int(i)*w+w]
}

// see writes the observation at a time in µs: graph, legality table and mask.
func (e *view) see(now int64, obs *envs.Observation) {
	e.at = now
	o := &obs.Kinds[0]
	o.Active[0] = true
	g := o.Graphs[0]
	g.Clear()
	k := &e.cached
	for f := range k.last {
		k.last[f] = -1
	}
	for n := range k.next {
		k.next[n] = noEvent
	}
	for _, i := range e.active {
		v := &e.invocations[i]
		k.next[v.node] = min(k.next[v.node], v.expected)
	}
	e.seeNodes(&g.Nodes[ResourceNodes])
	e.seeFunctions(g)
	shown := e.active[:min(len(e.active), e.c.Running)]
	g.Nodes[InvocationNodes].Len = len(e.window) + len(shown)
	// Running invocations come after waiting ones, though they are older: choice c is node c of the graph.
	for c, i := range shown {
		e.seeRunning(g, int32(len(e.window)+c), i)
	}
	n := len(e.nodes)
	for c, i := range e.window {
		e.seeWaiting(g, int32(c), i)
		copy(o.Legal[c*n:], e.fitting(e.invocations[i].function))
	}
	clear(o.Legal[len(e.window)*n:])
	e.mask(o.Mask)
}

func (e *view) seeNodes(s *envs.NodeSet) {
	s.Len = len(e.nodes)
	copy(s.Features, e.cached.nodes)
	for n := range e.nodes {
		row := s.Features[n*widthOfNode : (n+1)*widthOfNode]
		row[ofNext] = 1
		if t := e.cached.next[n]; t != noEvent {
			row[ofNext] = squash(seconds(max(0, t-e.at)), timeScale)
		}
		row[ofRecent] = float32(e.nodes[n].recent)
	}
}

func (e *view) seeFunctions(g *envs.GraphValue) {
	s := &g.Nodes[FunctionNodes]
	s.Len = len(e.functions)
	copy(s.Features, e.cached.functions)
	for f := range e.functions {
		l, row := &e.functions[f], s.Features[f*widthOfFunction:(f+1)*widthOfFunction]
		row[ofWaiting] = squash(float64(l.waiting), countScale)
		row[ofBacklog] = squash(float64(l.waiting-l.shown), countScale)
		row[ofActive] = squash(float64(l.running), countScale)
		row[ofReady] = squash(float64(l.idle), countScale)
		row[ofSince] = 1
		if l.since >= 0 {
			row[ofSince] = squash(seconds(e.at-l.since), timeScale)
		}
		row[ofColdShare] = float32(l.cold)
		if l.idle+l.running > 0 {
			e.seeSharing(&g.Edges[SharingEdges], f)
		}
	}
	d := &g.Edges[DependencyEdges]
	for _, x := range e.cached.dependencies {
		row := add(d, widthOfDependency, x.from, x.to)
		row[ofFrequency], row[ofData] = float32(x.share), squash(x.data, dataScale)
	}
}

func (e *view) seeSharing(s *envs.EdgeSet, f int) {
	memory := e.s.functions[f].demand[0][Memory]
	for n := range e.nodes {
		p := &e.pairs[f*len(e.nodes)+n]
		if p.idle+p.running == 0 {
			continue
		}
		row := add(s, widthOfSharing, int32(f), int32(n))
		row[ofIdleHere], row[ofActiveHere] = squash(float64(p.idle), countScale), squash(float64(p.running), countScale)
		row[ofMemory] = share((p.idle+p.running)*memory, e.s.nodes[n].capacity[Memory])
	}
}

// add appends an edge and returns its features, all of which the caller writes.
func add(s *envs.EdgeSet, width int, from, to int32) []float32 {
	i := s.Len
	s.From[i], s.To[i] = from, to
	s.Len++
	return s.Features[i*width : (i+1)*width]
}

// seeInvocation writes the features that waiting and running invocations share, and the temporal edge from the
// invocation of the same function that was seen before.
func (e *view) seeInvocation(g *envs.GraphValue, c, i int32) (row []float32) {
	v, l, k := &e.invocations[i], &e.layout, &e.cached
	q := &e.requests[v.request]
	w := l.width()
	row = g.Nodes[InvocationNodes].Features[int(c)*w : (int(c)+1)*w]
	copy(row, k.prefixes[int(v.function)*l.prefix():(int(v.function)+1)*l.prefix()])
	copy(row[l.prefix():], e.still(i))
	tail := row[l.rest():][:lastOfInvocation]
	tail[ofWaited] = squash(seconds(e.at-v.since), timeScale)
	tail[ofSlack] = signed(seconds(q.deadline - e.at))
	tail[ofAge] = squash(seconds(e.at-q.arrived), timeScale)
	tail[ofHeld] = float32(q.held)
	tail[ofRemaining] = squash(max(0, q.work), timeScale)
	t := &e.s.workflows[q.workflow]
	st := &t.steps[v.step]
	tail[ofStage] = share(e.levels[int(v.request)*e.s.steps+int(st.level)], st.peers)
	tail[ofLeft] = share(q.left, int32(e.s.steps))
	tail[ofRuns], tail[ofAmount] = 0, 0
	if before := k.last[v.function]; before >= 0 {
		add(&g.Edges[TemporalEdges], widthOfTemporal, before, c)[0] = signed(seconds(v.since - k.since[v.function]))
	}
	k.last[v.function], k.since[v.function] = c, v.since
	return row
}

// seeRunning writes a running invocation, with an edge to its node.
func (e *view) seeRunning(g *envs.GraphValue, c, i int32) {
	row, v := e.seeInvocation(g, c, i), &e.invocations[i]
	row[0] = 0
	tail := row[e.layout.rest():]
	tail[ofWarm] = 0
	tail[ofRuns] = squash(seconds(max(0, v.expected-e.at)), timeScale)
	tail[ofAmount] = float32(v.amount+1) / float32(len(e.c.Amounts))
	edge := add(&g.Edges[AllocationEdges], widthOfAllocation, c, v.node)
	edge[ofGranted] = 1
	copy(edge[ofShares:], v.shares[:])
	edge[ofRemains] = tail[ofRuns]
	edge[ofWarmHere], edge[ofLocal] = 0, 0
}

// seeWaiting writes a waiting invocation, with edges to the nodes where its function is warm, or part of its input
// lies.
func (e *view) seeWaiting(g *envs.GraphValue, c, i int32) {
	row, v, k := e.seeInvocation(g, c, i), &e.invocations[i], &e.cached
	words := e.layout.words()
	warm := e.warm[int(v.function)*words : (int(v.function)+1)*words]
	count := 0
	for _, w := range warm {
		count += bits.OnesCount64(w)
	}
	row[e.layout.rest()+ofWarm] = float32(count) / float32(len(e.nodes))
	copy(k.near, warm)
	q := &e.requests[v.request]
	t := &e.s.workflows[q.workflow]
	before := t.steps[v.step].after
	first := v.request * int32(e.s.steps)
	for _, p := range before {
		n := e.invocations[first+p].node
		if n < 0 { // the output lies on no node
			continue
		}
		k.near[n/64] |= 1 << (n % 64)
		k.local[n] += float64(t.steps[p].output * q.size)
	}
	for w, left := range k.near {
		for ; left != 0; left &= left - 1 {
			n := int32(64*w + bits.TrailingZeros64(left))
			edge := add(&g.Edges[AllocationEdges], widthOfAllocation, c, n)
			clear(edge)
			if warm[w]&(left&-left) != 0 {
				edge[ofWarmHere] = 1
			}
			edge[ofLocal] = float32(over(k.local[n], v.input))
		}
	}
	for _, p := range before {
		if n := e.invocations[first+p].node; n >= 0 {
			k.local[n] = 0
		}
	}
}

// mask writes what is legal after some choices before it: invocations and waiting, then amounts, then nodes.
func (e *view) mask(mask []bool) {
	clear(mask)
	wait := e.layout.Wait()
	amounts, nodes := mask[wait+1:wait+1+len(e.c.Amounts)], mask[wait+1+len(e.c.Amounts):]
	fits := false
	for c, i := range e.window {
		mask[c] = e.functions[e.invocations[i].function].fits > 0
		fits = fits || mask[c]
	}
	waits := e.c.Hold || !fits
	mask[wait], amounts[0], nodes[0] = waits, waits, waits
	most := int8(0)
	for f := range e.functions {
		if l := &e.functions[f]; l.shown == 0 || l.fits == 0 {
			continue
		}
		for n, count := range e.fitting(int32(f)) {
			nodes[n] = nodes[n] || count > 0
			most = max(most, count)
		}
	}
	for a := range most {
		amounts[a] = true
	}
}
