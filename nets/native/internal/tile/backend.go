package tile

import (
	"runtime"
	"sync"

	"github.com/stoker-rl/stoker/internal/pool"
	"github.com/stoker-rl/stoker/nets/internal/core"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// Options of a backend.
type Options struct {
	// Threads is how many a recorded update may use, 0 for GOMAXPROCS. Results don't depend on it.
	Threads int
	// Alone has each agent attend to its neighbours alone, also where agents with the same neighbours could do
	// so together. Results don't depend on it; tests compare the two.
	Alone bool
	// Tiles has a few samples go through tiles too. Results don't depend on it; tests compare the two.
	Tiles bool
}

// Backend implements [core.Backend] with kernels. An operation outside a recorded update runs at once on the
// goroutine that calls it; those of a recorded update become a [program].
type Backend struct {
	state   *core.State
	set     *kernel.Set // for tiles
	single  *kernel.Set // for one lane
	options Options
	program *program // of the recorded update that is being captured, or nil

	mu      sync.Mutex
	workers []*scratch  // of programs, by worker
	need    scratchNeed // of all operations so far

	loss        lossStep // the loss that is run at once
	parallel    parallelJob
	lastThreads int // that the last run of a program took
}

// New returns the backend of an engine.
func New(s *core.State, set *kernel.Set, o Options) *Backend {
	if o.Threads <= 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	b := &Backend{state: s, set: set, single: kernel.Reference(), options: o}
	b.single.Vector = set.Vector
	b.workers = make([]*scratch, o.Threads)
	for i := range b.workers {
		b.workers[i] = &scratch{}
	}
	return b
}

// Info implements [core.Backend].
func (b *Backend) Info() (threads int, kernels string) {
	if b.set.Name == "go" {
		return b.options.Threads, "reference"
	}
	return b.options.Threads, "x86-fma"
}

// Kernels returns those for tiles.
func (b *Backend) Kernels() *kernel.Set { return b.set }

// kernels are those for a number of lanes.
func (b *Backend) kernels(lanes int) *kernel.Set {
	if lanes == 1 {
		return b.single
	}
	return b.set
}

// Gumbel implements [core.Backend].
func (b *Backend) Gumbel(dst []float32, words []uint32) { b.set.Gumbel(dst, words) }

// Parallel implements [core.Backend].
func (b *Backend) Parallel(parts int, part func(i, w int)) {
	b.parallel.part = part
	pool.Do(&b.parallel, parts, max(1, b.lastThreads))
}

// parallelJob is what Parallel was given, as a job.
type parallelJob struct{ part func(i, w int) }

func (j *parallelJob) Part(i, w int) { j.part(i, w) }

// Record implements [core.Backend]: it makes a program of each update by calling it once.
func (b *Backend) Record(updates []func()) core.Program {
	r := &recorded{b: b}
	for _, u := range updates {
		r.programs = append(r.programs, b.capture(u))
	}
	return r
}

func (b *Backend) capture(update func()) *program {
	p := &program{b: b}
	b.program = p
	defer func() { b.program = nil }()
	b.state.Capture(update)
	p.finish()
	return p
}

// require remembers the memory that an operation of a program may need. Works may be made side by side.
func (b *Backend) require(n scratchNeed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.need = b.need.max(n)
}

// equip gives workers that memory.
func (b *Backend) equip() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.workers {
		s.grow(b.need)
	}
}
