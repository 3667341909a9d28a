package tile

import "github.com/stoker-rl/stoker/nets/native/kernel"

// context is where a stage runs: on a worker, for a shard of the gradients.
type context struct {
	*scratch
	worker, shard int
}

// scratch is the memory that one operation on one tile needs while it runs, and no longer.
type scratch struct {
	product kernel.Product
	adam    kernel.Adam
	grad    [1][]float32 // a gradient, for kernels that take several shards
	one     [1]int32

	grads      [2][]float32 // gradients w.r.t. two neighbouring layers' outputs, [widest][lanes]
	transposed []float32    // [lanes][widest]
	ones       []float32    // [lanes]
	weights    []float32    // of neighbours, [most][lanes]
	packed     []float32    // of agents that attend together: their queries or weights
	rho, dq    []float32    // their gradients w.r.t. scores, and by queries or keys
	features   []float32    // gradient w.r.t. the inputs side by side, [widest][lanes]
}

// place is a list of one place, for kernels that take several.
func (s *scratch) place(at int) []int32 {
	s.one[0] = int32(at)
	return s.one[:]
}

// scratchNeed is how much of it.
type scratchNeed struct{ lanes, widest, neighbours, packed, rho, dq int }

func (n scratchNeed) max(m scratchNeed) scratchNeed {
	return scratchNeed{
		max(n.lanes, m.lanes), max(n.widest, m.widest), max(n.neighbours, m.neighbours),
		max(n.packed, m.packed), max(n.rho, m.rho), max(n.dq, m.dq),
	}
}

func (s *scratch) grow(n scratchNeed) {
	size := n.lanes * n.widest
	for _, b := range []*[]float32{&s.grads[0], &s.grads[1], &s.transposed, &s.features} {
		if len(*b) < size {
			*b = make([]float32, size)
		}
	}
	if len(s.ones) < n.lanes {
		s.ones = make([]float32, n.lanes)
		for i := range s.ones {
			s.ones[i] = 1
		}
	}
	for _, b := range []struct {
		of   *[]float32
		rows int
	}{{&s.weights, n.neighbours}, {&s.packed, n.packed}, {&s.rho, n.rho}, {&s.dq, n.dq}} {
		if len(*b.of) < n.lanes*b.rows {
			*b.of = make([]float32, n.lanes*b.rows)
		}
	}
}
