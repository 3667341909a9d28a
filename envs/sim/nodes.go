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

// NodeFree is what a node has left; one that does not exist has nothing.
func (s *Sim) NodeFree(k int) Node {
	if k < 0 || k >= len(s.nodes) {
		return Node{}
	}
	return s.nodes[k].free
}
