package deeprm

import (
	"fmt"
	"hash/fnv"
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

// CopyFrom implements [envs.Env].
func (e *Env) CopyFrom(src envs.Env) error {
	s, ok := src.(*Env)
	if !ok {
		return fmt.Errorf("%s: copy from a %T", ID, src)
	}
	if err := state.Copy(e, s); err != nil {
		return fmt.Errorf("%s: %w", ID, err)
	}
	return nil
}

// AppendBinary implements [envs.Env].
func (e *Env) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, ID, e) }

// UnmarshalBinary implements [envs.Env]. A state that is refused changes nothing.
func (e *Env) UnmarshalBinary(b []byte) error { return state.Load(b, ID, e) }

// fingerprint tells configurations apart.
func fingerprint(c *Config) uint64 {
	h := fnv.New64a()
	h.Write([]byte(state.Settings(c, Default())))
	return h.Sum64()
}

// State lists the state. What follows from other fields is copied, but not saved: [Env.restore] makes it anew.
func (e *Env) State(c *state.Codec) {
	c.Same("configuration", e.fingerprint)
	state.Value(c, &e.episode)
	state.Value(c, &e.source.draws)
	state.Fixed(c, e.jobs)
	state.Fixed(c, e.visible)
	state.Fixed(c, e.backlog)
	state.Slice(c, &e.active)
	state.Slice(c, &e.ends)
	c.Part(e.screen)
	if !c.Stored() {
		state.Fixed(c, e.cluster.free)
		state.Fixed(c, e.needs)
		state.Value(c, &e.sums)
	}
	if c.Loaded() && e.begun {
		e.source.begin(e.seed, e.source.set)
		c.Fail(e.restore())
	}
	c.Check(e.begun || !e.running, "an episode is under way that has not begun")
}

// restore checks what was loaded against the rules, and makes what follows from it: free slots, demands, counts and
// sums.
func (e *Env) restore() error {
	if e.now < 0 || int(e.now) > e.c.MaxTime+1 {
		return fmt.Errorf("time step %d, want 0 to %d", e.now, e.c.MaxTime+1)
	}
	if sets := e.source.sets(); e.source.set < -1 || e.source.set >= sets || e.source.set < 0 && sets > 0 {
		return fmt.Errorf("job set %d, there are %d", e.source.set, sets)
	}
	if e.waiting < 0 || e.waiting > len(e.backlog) || e.first < 0 || e.first >= max(1, len(e.backlog)) {
		return fmt.Errorf("%d jobs wait in the backlog from place %d on, which has %d", e.waiting, e.first, len(e.backlog))
	}
	e.cluster.clear()
	e.sums = sums{soonest: math.MaxInt32}
	held := make([]bool, len(e.jobs)) // jobs that are in one of the lists
	for p, i := range e.visible {
		if e.needs[p] = never; i == -1 {
			continue
		}
		if err := e.restoreJob(held, i, false); err != nil {
			return fmt.Errorf("place %d: %w", p, err)
		}
		e.needs[p] = e.jobs[i].demand
		e.shown++
	}
	for k := range e.waiting {
		if err := e.restoreJob(held, e.backlog[(e.first+k)%len(e.backlog)], false); err != nil {
			return fmt.Errorf("backlog: %w", err)
		}
	}
	for _, i := range e.active {
		if err := e.restoreJob(held, i, true); err != nil {
			return fmt.Errorf("running: %w", err)
		}
	}
	if err := e.checkJobs(held); err != nil {
		return err
	}
	return e.checkScreen()
}

// restoreJob takes in job i of a list: one that is active, which holds its slots, or one that waits.
func (e *Env) restoreJob(held []bool, i int32, active bool) error {
	if i < 0 || int(i) >= len(e.jobs) || e.jobs[i].length < 1 || int(i) > int(e.now) || held[i] {
		return fmt.Errorf("job %d has not arrived, or is listed twice", i)
	}
	held[i] = true
	j := &e.jobs[i]
	if int(j.length) >= len(e.inverse) {
		return fmt.Errorf("job %d runs for %d time steps, want at most %d", i, j.length, len(e.inverse)-1)
	}
	e.weight += e.inverse[j.length]
	if !active {
		if j.finish != 0 {
			return fmt.Errorf("job %d waits, but ends in time step %d", i, j.finish)
		}
		return nil
	}
	start := j.finish - j.length
	if start < i || start > e.now && !e.booking || int(j.finish-e.now) > e.c.Horizon ||
		j.finish <= e.now && !e.c.Defects.LateRemoval || j.grey < 0 || int(j.grey) >= e.c.Greys-1 {
		return fmt.Errorf("job %d runs in time steps %d to %d with grey level %d, which the rules do not allow", i, start,
			j.finish, j.grey)
	}
	e.soonest = min(e.soonest, j.finish)
	for t := max(start, e.now); t < j.finish; t++ {
		free := &e.cluster.free[t-e.now]
		if !room(*free, j.demand) {
			return fmt.Errorf("job %d has no room in time step %d", i, t)
		}
		*free -= j.demand
	}
	return nil
}

// checkJobs compares all jobs with those that arrive, and counts those that are in no list.
func (e *Env) checkJobs(held []bool) error {
	source := e.source
	source.traced = nil
	finished, dropped := 0, 0
	for i := range e.jobs {
		j, want := &e.jobs[i], job{}
		arrived := i < int(e.now) || i == int(e.now) && e.running
		if arrived && (i > 0 || !e.c.Defects.SkipFirst) {
			want = source.at(i)
		}
		if j.length != want.length || j.demand != want.demand {
			return fmt.Errorf("job %d is not the one that arrives", i)
		}
		switch {
		case j.length == 0 || held[i]:
		case j.finish == 0:
			dropped++
		case j.finish > e.now || j.finish < int32(i)+j.length:
			return fmt.Errorf("job %d is in no list, but ends in time step %d", i, j.finish)
		default:
			finished++
		}
	}
	if finished != e.tally.finished || dropped != e.tally.dropped || e.started != finished+len(e.active) {
		return fmt.Errorf("%d jobs started, %d finished, %d dropped, want %d, %d, %d",
			e.started, e.tally.finished, e.tally.dropped, finished+len(e.active), finished, dropped)
	}
	return nil
}

// checkScreen compares what is seen with what is.
func (e *Env) checkScreen() error {
	l, seen := NewLayout(&e.c), e.screen.seen()
	if err := l.space().Contains(seen); err != nil {
		return err
	}
	for p, i := range e.visible {
		var j job
		if i >= 0 {
			j = e.jobs[i]
		}
		same := l.Length(seen, p) == int(j.length)
		for r := range e.c.Resources {
			same = same && l.Demand(seen, p, r) == lane(j.demand, r)
		}
		if !same {
			return fmt.Errorf("place %d shows another job than the one that is there", p)
		}
	}
	for t, free := range e.cluster.free {
		for r := range e.c.Resources {
			if x := l.Free(seen, r, t); x != lane(free, r) {
				return fmt.Errorf("%d slots of resource %d are shown free at +%d, want %d", x, r, t, lane(free, r))
			}
		}
	}
	return nil
}
