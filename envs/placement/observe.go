package placement

import (
	"math/bits"

	"github.com/stoker-rl/stoker/envs"
)

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
