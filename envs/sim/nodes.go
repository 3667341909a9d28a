package sim

// holds reports whether an instance of sizing z fits into n.
func (n *Node) holds(z *Sizing) bool { return n.CPU >= z.CPU && n.Memory >= z.Memory && n.GPU >= z.GPU }

// findNode is the node on which the placement policy puts an instance of sizing z: none if none has room, and
// where the cluster is unlimited.
func (s *Sim) findNode(z *Sizing) int32 {
	if len(s.nodes) == 0 {
		return none
	}
	f := &s.finder
	switch s.plan.cfg.Placement {
	case BestFit:
		return f.best(s.nodes, f.root, z)
	case SpreadFit:
		k := f.first(1, f.cursor, z)
		if k == none {
			k = f.first(1, 0, z)
		}
		if k != none {
			f.cursor = (k + 1) % int32(len(s.nodes))
		}
		return k
	}
	return f.first(1, 0, z)
}

// nodeTake puts sign = 1 instance of sizing z on node k, or with -1 takes one off.
func (s *Sim) nodeTake(k int32, z *Sizing, sign int32) {
	n := &s.nodes[k]
	n.touch(s.cal.now, &s.plan.cfg.Nodes[k])
	f := &s.finder
	best := s.plan.cfg.Placement == BestFit
	if best {
		f.root = f.erase(s.nodes, f.root, k)
	}
	n.free.CPU -= sign * z.CPU
	n.free.Memory -= sign * z.Memory
	n.free.GPU -= sign * z.GPU
	n.instances += sign
	if best {
		f.left[k], f.right[k] = none, none
		f.pull(s.nodes, k)
		f.root = f.insert(s.nodes, f.root, k)
	} else {
		f.set(k, n.free)
	}
}

// touch brings the node's areas up to the moment now.
func (n *node) touch(now Time, all *Node) {
	dt := uint64(now - n.since)
	n.since = now
	n.area[0].addMul(uint64(all.CPU-n.free.CPU), dt)
	n.area[1].addMul(uint64(all.Memory-n.free.Memory), dt)
	n.area[2].addMul(uint64(all.GPU-n.free.GPU), dt)
	n.area[3].addMul(uint64(n.instances), dt)
}

// NodeMeter is what a node's instances held over a window.
type NodeMeter struct {
	Seconds          float64
	CPU, Memory, GPU float64 // mean allocated millicores, MB, slices
	Instances        float64 // mean number
}

// NodeMeter reads a node's meters since the last ResetMeters; a node that does not exist gives zeros.
func (s *Sim) NodeMeter(k int) NodeMeter {
	if k < 0 || k >= len(s.nodes) || s.cal.now == s.from {
		return NodeMeter{}
	}
	n := &s.nodes[k]
	n.touch(s.cal.now, &s.plan.cfg.Nodes[k])
	us := float64(s.cal.now - s.from)
	return NodeMeter{
		Seconds: us / 1e6,
		CPU:     n.area[0].float() / us, Memory: n.area[1].float() / us, GPU: n.area[2].float() / us,
		Instances: n.area[3].float() / us,
	}
}

// Nodes is the number of nodes, 0 where the cluster is unlimited.
func (s *Sim) Nodes() int { return len(s.nodes) }

// finder looks up nodes by what they have free. FirstFit and SpreadFit use a segment tree over node numbers; BestFit a
// treap ordered by free room. Both keep the component-wise maximum of free room below each tree node and skip a subtree
// that cannot hold the request. A search is O(log nodes) where one resource is scarce. It visits more subtrees where
// nodes with room in one resource lack another.
type finder struct {
	roots
	top         []Node  // segment tree: maxima by tree node; treap: maxima by machine
	left, right []int32 // treap: children by machine
}

// roots is where walks over a finder's trees begin.
type roots struct {
	cursor int32 // where SpreadFit's round goes on
	size   int32 // leaves of the segment tree: a power of two; its root is at 1
	root   int32 // of the treap
}

func (f *finder) reset(p Placement, nodes []node) {
	n := int32(len(nodes))
	f.cursor, f.size, f.root = 0, 1, none
	f.top, f.left, f.right = f.top[:0], f.left[:0], f.right[:0]
	if n == 0 {
		return
	}
	if p == BestFit {
		for k := range n {
			f.top = append(f.top, Node{})
			f.left, f.right = append(f.left, none), append(f.right, none)
			f.pull(nodes, k)
			f.root = f.insert(nodes, f.root, k)
		}
		return
	}
	for f.size < n {
		f.size *= 2
	}
	for range 2 * f.size {
		f.top = append(f.top, Node{-1, -1, -1}) // holds nothing
	}
	for k := range n {
		f.set(k, nodes[k].free)
	}
}

func (n *Node) raise(o *Node) {
	n.CPU, n.Memory, n.GPU = max(n.CPU, o.CPU), max(n.Memory, o.Memory), max(n.GPU, o.GPU)
}

// set writes machine k's free room into the segment tree.
func (f *finder) set(k int32, free Node) {
	t := f.size + k
	f.top[t] = free
	for t >>= 1; t >= 1; t >>= 1 {
		f.top[t] = f.top[2*t]
		f.top[t].raise(&f.top[2*t+1])
	}
}

// first is the lowest machine from number from on, below tree node t, that holds z.
func (f *finder) first(t, from int32, z *Sizing) int32 {
	if !f.top[t].holds(z) || f.last(t) < from {
		return none
	}
	if t >= f.size {
		return t - f.size
	}
	if k := f.first(2*t, from, z); k != none {
		return k
	}
	return f.first(2*t+1, from, z)
}

// last is the highest machine number below tree node t.
func (f *finder) last(t int32) int32 {
	for t < f.size {
		t = 2*t + 1
	}
	return t - f.size
}

// less orders machines by free GPU slices, CPU, memory, then number.
func less(nodes []node, a, b int32) bool {
	x, y := &nodes[a].free, &nodes[b].free
	switch {
	case x.GPU != y.GPU:
		return x.GPU < y.GPU
	case x.CPU != y.CPU:
		return x.CPU < y.CPU
	case x.Memory != y.Memory:
		return x.Memory < y.Memory
	}
	return a < b
}

// weight is machine k's fixed priority in the treap (Seidel and Aragon, 1996): a hash of its number.
func weight(k int32) uint32 {
	x := uint32(k) * 0x9e3779b1
	x ^= x >> 16
	x *= 0x85ebca6b
	return x ^ x>>13
}

// pull recomputes the maxima at treap node k from its children.
func (f *finder) pull(nodes []node, k int32) {
	f.top[k] = nodes[k].free
	if l := f.left[k]; l != none {
		f.top[k].raise(&f.top[l])
	}
	if r := f.right[k]; r != none {
		f.top[k].raise(&f.top[r])
	}
}

// insert puts machine k, a treap of its own, into treap t and returns the root.
func (f *finder) insert(nodes []node, t, k int32) int32 {
	switch {
	case t == none:
		return k
	case weight(k) > weight(t):
		f.left[k], f.right[k] = f.split(nodes, t, k)
		t = k
	case less(nodes, k, t):
		f.left[t] = f.insert(nodes, f.left[t], k)
	default:
		f.right[t] = f.insert(nodes, f.right[t], k)
	}
	f.pull(nodes, t)
	return t
}

// split parts treap t into the machines before and after k.
func (f *finder) split(nodes []node, t, k int32) (before, after int32) {
	if t == none {
		return none, none
	}
	if less(nodes, t, k) {
		f.right[t], after = f.split(nodes, f.right[t], k)
		before = t
	} else {
		before, f.left[t] = f.split(nodes, f.left[t], k)
		after = t
	}
	f.pull(nodes, t)
	return before, after
}

// erase takes machine k out of treap t, before its free room changes, and returns the root.
func (f *finder) erase(nodes []node, t, k int32) int32 {
	switch {
	case t == k:
		return f.join(nodes, f.left[t], f.right[t])
	case less(nodes, k, t):
		f.left[t] = f.erase(nodes, f.left[t], k)
	default:
		f.right[t] = f.erase(nodes, f.right[t], k)
	}
	f.pull(nodes, t)
	return t
}

// join makes one treap of two, all of a before all of b.
func (f *finder) join(nodes []node, a, b int32) int32 {
	switch {
	case a == none:
		return b
	case b == none:
		return a
	case weight(a) > weight(b):
		f.right[a] = f.join(nodes, f.right[a], b)
		f.pull(nodes, a)
		return a
	}
	f.left[b] = f.join(nodes, a, f.left[b])
	f.pull(nodes, b)
	return b
}

// best is the first machine in the treap's order that holds z.
func (f *finder) best(nodes []node, t int32, z *Sizing) int32 {
	if t == none || !f.top[t].holds(z) {
		return none
	}
	if k := f.best(nodes, f.left[t], z); k != none {
		return k
	}
	if nodes[t].free.holds(z) {
		return t
	}
	return f.best(nodes, f.right[t], z)
}
