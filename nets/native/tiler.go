package native

import (
	"runtime"
	"sync"

	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// tiler runs an engine's operations with kernels, on tiles. An operation outside a recorded update runs at once on the
// goroutine that calls it; those of a recorded update become a [program].
type tiler struct {
	e       *engine[float32]
	set     *kernel.Set // for tiles
	single  *kernel.Set // for one lane
	threads int
	capture *program // of the recorded update whose operations are being listed, or nil
	mu      sync.Mutex
	workers []*scratch  // of programs, by worker
	need    scratchNeed // of all operations so far
	now     tileLoss    // the loss that is run at once
	shared  sharedJob
	lately  int // threads that the last run of a program took
}

func newTiler(e *engine[float32], set *kernel.Set, threads int) *tiler {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	t := &tiler{e: e, set: set, single: kernel.Reference(), threads: threads}
	t.single.Vector = set.Vector
	t.workers = make([]*scratch, threads)
	for i := range t.workers {
		t.workers[i] = &scratch{}
	}
	return t
}

// family names what computes the same bits.
func (t *tiler) family() string {
	if t.set.Name == "go" {
		return "reference"
	}
	return "x86-fma"
}

// as32 is a value of a generic engine where that is known to be of float32.
func as32[To any](x any) To { return x.(To) }

// step lists or runs a step of Adam.
func (t *tiler) step(j *adamJob) {
	if t.capture != nil {
		kept := *j
		t.capture.whole(&kept)
		return
	}
	t.doWhole(j)
}

// kernels are those for a number of lanes.
func (t *tiler) kernels(lanes int) *kernel.Set {
	if lanes == 1 {
		return t.single
	}
	return t.set
}

// wants remembers the memory that an operation of a program may need. Works may be made side by side.
func (t *tiler) wants(n scratchNeed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.need = t.need.max(n)
}

// equip gives workers that memory.
func (t *tiler) equip() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.workers {
		s.grow(t.need)
	}
}

// scratch is the memory that one operation on one tile needs while it runs, and no longer.
type scratch struct {
	product kernel.Product
	adam    kernel.Adam
	share   [1][]float32 // of a gradient
	one     [1]int32

	grads      [2][]float32 // gradients by two neighbouring layers' outputs, [widest][lanes]
	transposed []float32    // [lanes][widest]
	ones       []float32    // [lanes]
	weights    []float32    // of neighbours, [most][lanes]
	packed     []float32    // of agents that go together: their queries or weights
	rho, dq    []float32    // their gradients by scores, and by queries or keys
	features   []float32    // gradient by the inputs side by side, [widest][lanes]
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
		max(n.lanes, m.lanes), max(n.widest, m.widest), max(n.neighbours, m.neighbours), max(n.packed, m.packed), max(n.rho, m.rho), max(n.dq, m.dq),
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
