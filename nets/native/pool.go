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
type pool struct {
	busy    sync.Mutex
	helpers []*helper
	job     job
	state   atomic.Uint64 // see order
	done    atomic.Int64
	waiting atomic.Bool // the caller is parked until the last part is done
	over    chan struct{}
}

var helpers = pool{over: make(chan struct{}, 1)}

// order is the pool's state in one word, so that a claim and what it claims can't come apart: 16 bits of the job's number, 8 of how many
// threads it wants, 20 of its parts, 20 of the next part that nobody has.
type order uint64

const partBits, maxParts = 20, 1<<20 - 1

func newOrder(number uint64, threads, parts int) order {
	return order(number<<48 | uint64(threads)<<40 | uint64(parts)<<partBits)
}

func (o order) number() uint64 { return uint64(o >> 48) }
func (o order) threads() int   { return int(o >> 40 & 0xff) }
func (o order) parts() int     { return int(o >> partBits & (1<<partBits - 1)) }
func (o order) next() int      { return int(o & (1<<partBits - 1)) }

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
	if threads = min(threads, parts, 255); threads <= 1 || parts > maxParts || !p.busy.TryLock() {
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
	p.job = j
	p.done.Store(0)
	p.state.Store(uint64(newOrder(order(p.state.Load()).number()+1, threads, parts)))
	for _, h := range p.helpers[:threads-1] {
		if h.parked.CompareAndSwap(true, false) {
			h.wake <- struct{}{}
		}
	}
	p.take(0)
	p.wait(int64(parts))
}

// take does parts until none is left. A late helper may find itself in the next job: then it does a part of that.
func (p *pool) take(worker int) {
	for {
		o := order(p.state.Load())
		if o.next() >= o.parts() || worker >= o.threads() {
			return
		}
		if !p.state.CompareAndSwap(uint64(o), uint64(o+1)) {
			continue
		}
		p.job.part(o.next(), worker)
		if p.done.Add(1) == int64(o.parts()) && p.waiting.CompareAndSwap(true, false) {
			p.over <- struct{}{}
		}
	}
}

// wait returns when all parts are done.
func (p *pool) wait(parts int64) {
	for begun := time.Now(); time.Since(begun) < awake; {
		for range 64 {
			if p.done.Load() == parts {
				return
			}
		}
	}
	p.waiting.Store(true)
	if p.done.Load() == parts && p.waiting.CompareAndSwap(true, false) {
		return
	}
	<-p.over
}

func (h *helper) run(p *pool) {
	for seen := uint64(0); ; {
		o := h.await(p, seen)
		seen = o.number()
		p.take(h.worker)
	}
}

// await returns the state of a job that this helper has not seen and is wanted for.
func (h *helper) await(p *pool, seen uint64) order {
	wanted := func() (order, bool) {
		o := order(p.state.Load())
		return o, o.number() != seen && h.worker < o.threads()
	}
	for {
		for begun := time.Now(); time.Since(begun) < awake; {
			for range 64 {
				if o, ok := wanted(); ok {
					return o
				}
			}
		}
		h.parked.Store(true)
		if o, ok := wanted(); ok && h.parked.CompareAndSwap(true, false) {
			return o
		}
		<-h.wake
	}
}
