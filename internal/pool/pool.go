// Package pool runs the parts of a job on a few threads, for jobs of tens of microseconds, such as a stage of an
// update or a step of some environments: too short for goroutines that are started each time. It also chooses how
// many threads to use ([Pace]) and cuts work into shards ([Shard]).
//
// Nothing here changes a result: parts may run in any order on any thread, so a job's parts must not depend on
// each other.
package pool

import (
	"sync"
	"sync/atomic"
	"time"
)

// Job is work in parts that can be done in any order.
type Job interface {
	// Part does part i on worker w: two parts never run on one worker at once, and worker 0 is the caller of [Do].
	Part(i, w int)
}

// Do runs parts 0 … parts−1 of a job on at most threads goroutines, this one among them, and returns when all
// are done. There is one pool for the process: of engines that work at the same time (many runs side by side)
// one has it and the others do their jobs alone.
func Do(j Job, parts, threads int) { workers.do(j, parts, threads) }

// Shard is the range of n things that shard i of a number of shards has.
func Shard(i, shards, n int) (from, to int) { return i * n / shards, (i + 1) * n / shards }

// pool is workers that take parts of a job beside the goroutine that has it.
//
// Each thread has a range of the parts, which is the same in all jobs of as many parts: what an agent's part of
// one job left in a core's cache is there for its part of the next. A thread that has finished its range takes
// parts from the end of others'.
type pool struct {
	busy    sync.Mutex
	workers []*worker
	job     Job
	parts   int64
	over    chan struct{}

	// What threads wait for and what they change while working lie on cache lines of their own, so that
	// changing one doesn't slow the other.
	_       padding
	state   atomic.Uint64 // the last job's [claim], of no parts
	_       padding
	done    atomic.Int64
	waiting atomic.Bool // the caller is parked until the last part is done
	_       padding
	ranges  [maxThreads]struct {
		claim atomic.Uint64 // see [claim]
		_     padding
	}
}

// padding fills the rest of a cache line and the one that processors fetch with it.
type padding [120]byte

var workers = pool{over: make(chan struct{}, 1)}

// claim is a thread's range in one word, so that taking a part also checks which job it is a part of: 16 bits
// of the job's number, 8 of how many threads it has, 20 of the range's first part that nobody has taken, 20 of
// its end.
type claim uint64

const partBits, maxParts, maxThreads = 20, 1<<20 - 1, 255

func newClaim(number, threads, from, to int) claim {
	return claim(number&0xffff)<<48 | claim(threads)<<40 | claim(from)<<partBits | claim(to)
}

func (c claim) number() int  { return int(c >> 48) }
func (c claim) threads() int { return int(c >> 40 & 0xff) }
func (c claim) from() int    { return int(c >> partBits & maxParts) }
func (c claim) to() int      { return int(c & maxParts) }

// worker is a goroutine that waits for jobs. It spins for a short while, since the next part of an update
// follows within microseconds, then parks, so that it takes no time from other processes.
type worker struct {
	index  int
	parked atomic.Bool
	wake   chan struct{}
}

// spinTime is how long waiters spin: longer than it takes to draw the next minibatch, since waking a parked
// thread costs tens of microseconds.
const spinTime = 100 * time.Microsecond

// do implements [Do].
func (p *pool) do(j Job, parts, threads int) {
	if threads = min(threads, parts, maxThreads); threads <= 1 || parts > maxParts || !p.busy.TryLock() {
		for i := range parts {
			j.Part(i, 0)
		}
		return
	}
	defer p.busy.Unlock()
	for len(p.workers) < threads-1 {
		w := &worker{index: len(p.workers) + 1, wake: make(chan struct{}, 1)}
		p.workers = append(p.workers, w)
		go w.run(p)
	}
	p.offer(j, parts, threads)
	for _, w := range p.workers[:threads-1] {
		if w.parked.CompareAndSwap(true, false) {
			w.wake <- struct{}{}
		}
	}
	p.take(0, threads)
	p.wait()
}

// offer cuts a job into the threads' ranges and publishes it to the workers.
func (p *pool) offer(j Job, parts, threads int) {
	p.job, p.parts = j, int64(parts)
	p.done.Store(0)
	number := claim(p.state.Load()).number() + 1
	for w := range threads {
		from, to := Shard(w, threads, parts)
		p.ranges[w].claim.Store(uint64(newClaim(number, threads, from, to)))
	}
	p.state.Store(uint64(newClaim(number, threads, 0, 0)))
}

// take does parts until none is left of a job with as many threads: first those of the worker's own range, then
// others' from their ends. A late worker may find a later job here: then it does parts of that, if the job
// wants it.
func (p *pool) take(worker, threads int) {
	for n := range threads {
		p.takeOf((worker+n)%threads, worker)
	}
}

// takeOf does parts of a thread's range until none is left. They are counted together at the end: until then
// the job isn't over.
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
			p.job.Part(part, worker)
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
	for begun := time.Now(); time.Since(begun) < spinTime; {
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

func (w *worker) run(p *pool) {
	for seen := 0; ; {
		c := w.await(p, seen)
		seen = c.number()
		p.take(w.index, c.threads())
	}
}

// await returns the state of a job that this worker has not seen and that wants it.
func (w *worker) await(p *pool, seen int) claim {
	wanted := func() (claim, bool) {
		c := claim(p.state.Load())
		return c, c.number() != seen && w.index < c.threads()
	}
	for {
		for begun := time.Now(); time.Since(begun) < spinTime; {
			for range 64 {
				if c, ok := wanted(); ok {
					return c
				}
			}
		}
		w.parked.Store(true)
		if c, ok := wanted(); ok && w.parked.CompareAndSwap(true, false) {
			return c
		}
		<-w.wake
	}
}

// Pace chooses between all threads and one by how long an update's last runs took. Threads wait for each other
// several times in an update, and where another process displaces one of them all wait: then one thread alone
// is faster, and leaves the other processor to that process. Results don't depend on the choice.
type Pace struct {
	one    bool          // one thread has been the faster
	runs   int           // since the other choice was tried
	wait   int           // runs until it is tried again
	trying int           // runs of a trial that are left
	took   time.Duration // moving average of a run by the present choice
	trials [trialRuns]time.Duration
}

// A trial has a few runs and must win by 1/margin. The first comes early; as long as nothing changes, each next
// one waits twice as long.
const trialRuns, firstTrial, lastTrial, margin = 8, 16, 512, 32

// Threads is how many the coming run takes.
func (p *Pace) Threads(most int) int {
	if p.one != (p.trying > 0) {
		return 1
	}
	return most
}

// Ran takes in the time of a run.
func (p *Pace) Ran(d time.Duration) {
	if p.trying > 0 {
		p.trying--
		p.trials[p.trying] = d
		if p.trying == 0 {
			p.decide()
		}
		return
	}
	if p.took == 0 {
		p.took = d
	}
	p.took += (d - p.took) / 8
	if p.runs++; p.runs >= max(p.wait, firstTrial) {
		p.trying = trialRuns
	}
}

// decide changes the choice where the trial was faster.
func (p *Pace) decide() {
	p.runs, p.wait = 0, min(2*max(p.wait, firstTrial), lastTrial)
	if d := mean(p.trials[:]); d < p.took-p.took/margin {
		p.one, p.took, p.wait = !p.one, d, firstTrial
	}
}

// mean leaves out the first run of a trial, which is the last in the list: threads may have to wake.
func mean(trials []time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range trials[:len(trials)-1] {
		sum += d
	}
	return sum / time.Duration(len(trials)-1)
}
