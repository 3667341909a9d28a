package deeprm

import "math"

// How jobs come to DeepRM's cluster, start there and leave.

// start is the time step, counted from now, at which the job in a place can start; −1 where there is no job or no room.
// Where starts are not booked ahead, a job that fits now fits for its whole length: running jobs only leave.
func (e *Env) start(place int) int {
	i := e.visible[place]
	if i < 0 {
		return -1
	}
	if !e.booking {
		if room(e.cluster.free[0], e.needs[place]) {
			return 0
		}
		return -1
	}
	j := &e.jobs[i]
	end := e.c.Horizon - int(j.length) + 1
	if e.c.Defects.SkipLastStart {
		end--
	}
	return e.cluster.earliest(j, end)
}

// place starts or books the job in a place. The backlog's oldest job moves into the place.
func (e *Env) place(place, start int) {
	i := e.visible[place]
	j := &e.jobs[i]
	e.started++
	e.cluster.take(j, start)
	j.finish = e.now + int32(start) + j.length
	e.soonest = min(e.soonest, j.finish)
	e.ends = e.ends[:0]
	e.screen.placed(e, j, start)
	e.active = append(e.active, i)
	e.visible[place], e.needs[place] = -1, never
	e.shown--
	if e.waiting > 0 {
		e.show(place, e.backlog[e.first])
		if e.first++; e.first == len(e.backlog) {
			e.first = 0
		}
		e.waiting--
		e.screen.backlog(e.waiting)
	} else {
		e.screen.place(place, nil)
	}
}

func (e *Env) show(place int, i int32) {
	e.visible[place], e.needs[place] = i, e.jobs[i].demand
	e.shown++
	e.screen.place(place, &e.jobs[i])
}

// move lets a time step pass: jobs leave, the next one arrives. It returns whether the episode ended or was cut.
func (e *Env) move() (terminated, truncated bool) {
	e.now++
	e.cluster.move()
	e.leave()
	e.screen.moved(e)
	switch {
	case e.c.End == NoNewJob:
		truncated = int(e.now) >= e.c.Steps
	case int(e.now) >= e.c.Steps && len(e.active) == 0 && e.shown == 0 && e.waiting == 0:
		terminated = true
	default:
		truncated = int(e.now) > e.c.MaxTime
	}
	e.running = !terminated && !truncated
	if truncated {
		e.tally.mean = e.cut()
	}
	if e.running && int(e.now) < e.c.Steps {
		e.arrive()
	}
	return terminated, truncated
}

// leave removes the jobs that have ended. With LateRemoval the job after each removed one is skipped, as in a loop that
// deletes from the list that it iterates over.
func (e *Env) leave() {
	e.ends = e.ends[:0]
	if e.now < e.soonest {
		return
	}
	e.soonest = math.MaxInt32
	remaining := e.active[:0]
	skip := false
	for _, i := range e.active {
		j := &e.jobs[i]
		if j.finish > e.now || skip {
			remaining = append(remaining, i)
			e.soonest = min(e.soonest, j.finish)
			skip = false
			continue
		}
		skip = e.c.Defects.LateRemoval
		e.weight -= e.inverse[j.length]
		s := float64(j.finish-i) / float64(j.length)
		if e.c.Defects.FloorSlowdown {
			s = float64((j.finish - i) / j.length)
		}
		e.tally.slowdown += s
		e.tally.finished++
		e.ends = append(e.ends, s)
	}
	e.active = remaining
	if len(e.ends) > 0 {
		e.tally.mean = e.tally.slowdown / float64(e.tally.finished)
	}
}

// arrive puts the time step's job, if there is one, into the first empty place, else into the backlog, else drops it.
func (e *Env) arrive() {
	j := e.source.at(int(e.now))
	if j.length == 0 {
		return
	}
	e.screen.arrived()
	e.jobs[e.now] = j
	if e.shown < len(e.visible) {
		for p, i := range e.visible {
			if i < 0 {
				e.weight += e.inverse[j.length]
				e.show(p, e.now)
				return
			}
		}
	}
	if e.waiting == len(e.backlog) {
		e.tally.dropped++
		return
	}
	at := e.first + e.waiting
	if at >= len(e.backlog) {
		at -= len(e.backlog)
	}
	e.backlog[at] = e.now
	e.waiting++
	e.weight += e.inverse[j.length]
	e.screen.backlog(e.waiting)
}
