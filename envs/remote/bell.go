package remote

import (
	"sync/atomic"
	"time"
)

// bell is how a client asks for steps without frames: it counts a word of the memory up. The server looks at the word again
// and again for a while before it sleeps: to be woken takes longer than small environments take to step. It looks less where
// that was in vain.
type bell struct {
	asked, frames, done, failed, ended, replaced, sleeps *atomic.Uint32

	last     uint32        // the step that was carried out last
	received uint32        // frames since Open
	patience time.Duration // for which the server looks
	slept    time.Time     // when it stopped looking
	failure  error         // of the last step
}

// most and least bound the time for which a server looks.
const mostPatience, leastPatience = 120 * time.Microsecond, 2 * time.Microsecond

func newBell(b *block) bell {
	return bell{asked: b.word(askedWord), frames: b.word(framesWord), done: b.word(doneWord), failed: b.word(failedWord),
		ended: b.word(endedWord), replaced: b.word(replacedWord), sleeps: b.word(sleepsWord), patience: mostPatience}
}

// watch carries out the steps that are asked for, and returns where a frame was sent, or may have to be waited for.
func (c *copies) watch() {
	b := &c.bell
	b.sleeps.Store(0)
	start := time.Now()
	if start.Sub(b.slept) < mostPatience {
		b.patience = min(2*b.patience, mostPatience) // it was woken soon: a little more patience finds the next step
	}
	for looks := 0; ; looks++ {
		if b.asked.Load() != b.last {
			c.ring()
			b.patience, start = mostPatience, time.Now()
			continue
		}
		if b.frames.Load() == b.received {
			if looks%64 != 0 || time.Since(start) < b.patience {
				continue
			}
			b.patience = max(b.patience/2, leastPatience)
		}
		// A client that has seen no sleeper has asked before the next look, or sends a frame in the end.
		if b.sleeps.Store(1); b.asked.Load() == b.last {
			b.slept = time.Now()
			return
		}
		b.sleeps.Store(0)
	}
}

// ring carries out the step that is asked for.
func (c *copies) ring() {
	b := &c.bell
	b.last = b.asked.Load()
	b.failure = c.step()
	ended, failed := uint32(0), uint32(0)
	for i, t := range c.terminated {
		if t || c.truncated[i] {
			ended++
		}
	}
	if b.failure != nil {
		failed = 1
	}
	b.ended.Store(ended)
	b.replaced.Store(uint32(c.replaced))
	b.failed.Store(failed)
	b.done.Store(b.last)
}

// settle carries out what is asked for and not yet done, and returns the error of the last step.
func (c *copies) settle() error {
	if c.bell.asked.Load() != c.bell.last {
		c.ring()
	}
	return c.bell.failure
}
