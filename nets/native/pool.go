package native

import (
	"sync"
	"sync/atomic"
	"time"
)

// job is work in parts that can be done in any order.
type job interface {
	// part does part i on worker w: two parts never run on one worker at once, and worker 0 is the caller.
	part(i, w int)
}

// pool is helpers that take parts of a job beside the goroutine that has it. There is one for the process: of engines that work at the same
// time (many runs side by side) one has it and the others do their jobs alone.
//
// Each thread has a range of the parts, which is the same in all jobs of as many parts: what an agent's part of one job left in a core's cache is there
// for its part of the next. A thread that has ended takes from the end of others' ranges.
type pool struct {
	busy    sync.Mutex
	helpers []*helper
	job     job
	parts   int64
	over    chan struct{}

	// What threads wait for and what they change in passing lies on lines of its own, so that the one doesn't take it from the other.
	_       gap
	state   atomic.Uint64 // the last job's [claim], of no parts
	_       gap
	done    atomic.Int64
	waiting atomic.Bool // the caller is parked until the last part is done
	_       gap
	ranges  [maxThreads]struct {
		claim atomic.Uint64 // see [claim]
		_     gap
	}
}

// gap fills the rest of a line and the one that processors fetch with it.
type gap [120]byte

var helpers = pool{over: make(chan struct{}, 1)}

// claim is a thread's range in one word, so that taking a part and what it is a part of can't come apart: 16 bits of the job's number, 8 of how many
// threads it has, 20 of the range's first part that nobody has, 20 of its end.
type claim uint64

const partBits, maxParts, maxThreads = 20, 1<<20 - 1, 255

func newClaim(number, threads, from, to int) claim {
	return claim(number&0xffff)<<48 | claim(threads)<<40 | claim(from)<<partBits | claim(to)
}

func (c claim) number() int  { return int(c >> 48) }
func (c claim) threads() int { return int(c >> 40 & 0xff) }
func (c claim) from() int    { return int(c >> partBits & maxParts) }
func (c claim) to() int      { return int(c & maxParts) }

// helper is a goroutine that waits for jobs: it spins for a short while, since the next part of an update follows within microseconds,
// then parks, so that it takes nothing from others.
type helper struct {
	worker int
	parked atomic.Bool
	wake   chan struct{}
}

// awake is how long waiters spin: longer than it takes to draw the next minibatch, since waking a parked thread costs tens of microseconds.
const awake = 100 * time.Microsecond

// do runs parts 0 … parts−1 on at most threads goroutines, this one among them, and returns when all are done.
func (p *pool) do(j job, parts, threads int) {
	if threads = min(threads, parts, maxThreads); threads <= 1 || parts > maxParts || !p.busy.TryLock() {
		for i := range parts {
			j.part(i, 0)
		}
		return
	}
	defer p.busy.Unlock()
	for len(p.helpers) < threads-1 {
		h := &helper{worker: len(p.helpers) + 1, wake: make(chan struct{}, 1)}
		p.helpers = append(p.helpers, h)
		go h.run(p)
	}
	p.offer(j, parts, threads)
	for _, h := range p.helpers[:threads-1] {
		if h.parked.CompareAndSwap(true, false) {
			h.wake <- struct{}{}
		}
	}
	p.take(0, threads)
	p.wait()
}

// offer cuts a job into the threads' ranges and lets helpers see it.
func (p *pool) offer(j job, parts, threads int) {
	p.job, p.parts = j, int64(parts)
	p.done.Store(0)
	number := claim(p.state.Load()).number() + 1
	for w := range threads {
		from, to := share(w, threads, parts)
		p.ranges[w].claim.Store(uint64(newClaim(number, threads, from, to)))
	}
	p.state.Store(uint64(newClaim(number, threads, 0, 0)))
}

// take does parts until none is left of a job with as many threads: first those of the worker's own range, then others' from their ends. A late helper may
// find itself in a later job: then it does parts of that, if it is wanted there.
func (p *pool) take(worker, threads int) {
	for n := range threads {
		p.takeOf((worker+n)%threads, worker)
	}
}

// takeOf does parts of a thread's range until none is left. They are counted together: as long as some are not, the job isn't over.
func (p *pool) takeOf(owner, worker int) {
	count := int64(0)
	for {
		c := claim(p.ranges[owner].claim.Load())
		if c.from() >= c.to() || worker >= c.threads() {
			break
		}
		part, left := c.from(), c+1<<partBits
		if worker != owner {
			part, left = c.to()-1, c-1
		}
		if p.ranges[owner].claim.CompareAndSwap(uint64(c), uint64(left)) {
			p.job.part(part, worker)
			count++
		}
	}
	if count == 0 {
		return
	}
	if all := p.parts; p.done.Add(count) == all && p.waiting.CompareAndSwap(true, false) {
		p.over <- struct{}{}
	}
}

// wait returns when all parts are done.
func (p *pool) wait() {
	for begun := time.Now(); time.Since(begun) < awake; {
		for range 64 {
			if p.done.Load() == p.parts {
				return
			}
		}
	}
	p.waiting.Store(true)
	if p.done.Load() == p.parts && p.waiting.CompareAndSwap(true, false) {
		return
	}
	<-p.over
}

func (h *helper) run(p *pool) {
	for seen := 0; ; {
		c := h.await(p, seen)
		seen = c.number()
		p.take(h.worker, c.threads())
	}
}

// await returns the state of a job that this helper has not seen and is wanted for.
func (h *helper) await(p *pool, seen int) claim {
	wanted := func() (claim, bool) {
		c := claim(p.state.Load())
		return c, c.number() != seen && h.worker < c.threads()
	}
	for {
		for begun := time.Now(); time.Since(begun) < awake; {
			for range 64 {
				if c, ok := wanted(); ok {
					return c
				}
			}
		}
		h.parked.Store(true)
		if c, ok := wanted(); ok && h.parked.CompareAndSwap(true, false) {
			return c
		}
		<-h.wake
	}
}
