package remote

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/pool"
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

// step carries out the commands of all copies. A wrong one changes nothing.
func (c *copies) step() error {
	copy(c.commands, c.ask.commands)
	copy(c.seeds, c.ask.seeds)
	for k, a := range c.ask.actions {
		copy(c.act.Kinds[k], a)
	}
	c.replaced = 0
	for i := range c.envs {
		if err := c.check(i); err != nil {
			return fmt.Errorf("copy %d: %w", i, err)
		}
	}
	c.run()
	for i, err := range c.errs {
		if err != nil {
			return fmt.Errorf("copy %d: %w", i, err)
		}
	}
	return nil
}

// worthwhile is how long copies must take before they are shared among workers: to wake these takes long, too.
const worthwhile = 200 * time.Microsecond

// run carries out the commands of all copies.
func (c *copies) run() {
	workers := 1
	if c.took >= worthwhile {
		workers = min(max(1, c.Workers), len(c.envs))
	}
	start := time.Now()
	pool.Do((*commanded)(c), len(c.envs), workers)
	c.took = time.Since(start) * time.Duration(workers)
}

// commanded is the commands of all copies as a job.
type commanded copies

// Part implements [pool.Job].
func (c *commanded) Part(i, _ int) { (*copies)(c).one(i) }

// check reports what is wrong with a copy's command. Choices that the masks forbid are replaced, or reported.
func (c *copies) check(i int) error {
	switch c.commands[i] {
	case Begin, Leave: // [copies.begin] clears the count, and a copy that is left keeps what its last step told
		return nil
	case Advance:
		tell(&c.substituted[i], 0)
	default:
		return fmt.Errorf("there is no command %d, want at most %d", c.commands[i], Leave)
	}
	if !c.running[i] {
		return errors.New("no episode is under way, want a reset first")
	}
	act, obs := c.act.Env(i), c.obs.Env(i)
	if c.simple && allowed(act.Kinds[0][0], obs.Kinds[0].Mask) {
		return nil // as what follows finds, too
	}
	for k := range c.spec.Kinds {
		round(c.spec.Kinds[k].Action, act.Kinds[k])
	}
	active := func(kind, agent int) bool { return obs.Kinds[kind].Active[agent] }
	if err := envs.CheckAction(c.spec, active, act); err != nil {
		return err
	}
	for k := range c.spec.Kinds {
		for j, present := range obs.Kinds[k].Active {
			if !present {
				continue
			}
			if err := c.legal(i, k, j); err != nil {
				return err
			}
		}
	}
	return nil
}

// allowed reports whether x is a choice that a mask allows.
func allowed(x float32, mask []bool) bool {
	return x >= 0 && x < float32(len(mask)) && x == float32(int(x)) && mask[int(x)]
}

// round rounds whole numbers of a box as policies of Stoker do, away from zero at a half.
func round(s envs.Space, rows []float32) {
	b, ok := s.(envs.Box)
	if !ok || b.Integer == nil {
		return
	}
	for i, x := range rows {
		if b.Integer[i%len(b.Integer)] {
			rows[i] = float32(math.Round(float64(x)))
		}
	}
}

// legal sees to it that the choices of an agent are legal.
func (c *copies) legal(i, k, j int) error {
	kind, o := &c.spec.Kinds[k], &c.obs.Env(i).Kinds[k]
	w := kind.Action.Width()
	row, all := c.act.Env(i).Kinds[k][j*w:(j+1)*w], o.MaskOf(j, kind.Action.MaskWidth())
	for m, n := range c.choices[k] {
		if n == 0 {
			continue
		}
		var mask []bool
		if kind.MaskAfter != nil {
			mask = c.legalNow[:n]
			if err := kind.MaskAfter(o, j, row[:m], mask); err != nil {
				return err
			}
		} else if all != nil {
			mask, all = all[:n], all[n:]
		}
		switch first := slices.Index(mask, true); {
		case mask == nil || mask[int(row[m])] || first < 0:
		case !c.Substitute:
			return fmt.Errorf("%s %d: choice %g of component %d is forbidden, want one that the mask allows, such as %d", kind.Name,
				j, row[m], m, first)
		default:
			row[m] = float32(first)
			c.substituted[i]++
			c.replaced++
		}
	}
	return nil
}

// one carries out the command of a copy; it touches nothing that belongs to another one.
func (c *copies) one(i int) {
	c.errs[i] = nil
	obs, out := c.obs.Env(i), &c.outcomes[i]
	switch c.commands[i] {
	case Leave:
		return
	case Begin:
		c.begin(i)
		c.begun[i] = c.seeds[i]
		c.errs[i] = c.envs[i].Reset(c.seeds[i], nil, obs)
	default:
		if c.errs[i] = c.envs[i].Step(c.act.Env(i), obs, out); c.errs[i] == nil {
			c.errs[i] = c.guard.Outcome(out)
		}
		tell(&c.terminated[i], out.Terminated)
		tell(&c.truncated[i], out.Truncated)
		tell(&c.elapsed[i], out.Elapsed)
		tell(&c.mean[i], mean(out.Rewards))
	}
	if c.errs[i] == nil {
		c.errs[i] = c.guard.Observation(obs)
	}
	c.running[i] = c.errs[i] == nil && !out.Terminated && !out.Truncated
	c.show(i)
}

// tell writes what seldom changes: memory that is not written stays in the cache of the client's core.
func tell[T comparable](at *T, x T) {
	if *at != x {
		*at = x
	}
}

// mean is what returns add up: the mean reward of all agents.
func mean(rewards [][]float32) float64 {
	sum, n := 0.0, 0
	for _, r := range rewards {
		for _, x := range r {
			sum += float64(x)
		}
		n += len(r)
	}
	return sum / float64(n)
}

// begin clears what is told of a copy's last step.
func (c *copies) begin(i int) {
	out := &c.outcomes[i]
	out.Terminated, out.Truncated = false, false
	c.episodes[i]++
	c.terminated[i], c.truncated[i], c.elapsed[i], c.mean[i], c.substituted[i] = false, false, 0, 0, 0
	for _, r := range out.Rewards {
		clear(r)
	}
	clear(out.Info)
}

// show puts the graphs of a copy where the client sees them; all else is there.
func (c *copies) show(i int) {
	for k, g := range c.graphs {
		if g == nil {
			continue
		}
		for j, v := range c.obs.Env(i).Kinds[k].Graphs {
			g.show(i*c.spec.Kinds[k].Agents+j, v)
		}
	}
}
