package steps

import "slices"

// Run is a step's run on workers whose room is bounded: what an orchestrator sees of its instances.
type Run struct {
	// Step is the step, -1 of another request of the stream.
	Step int
	// Cores and MB are what an instance holds. Started instances run, Queued ones wait for room.
	Cores, MB       int
	Started, Queued int
	// Since is when the last of its instances found room, in seconds since the request began; of another request's it can
	// be negative. Seconds is for how long an instance is predicted to hold it in the mean, Last for how long the last does.
	Since, Seconds, Last float64
}

// hold is a run as the room keeps it: when its instances found room, and when they end, in seconds of the episode.
type hold struct {
	request, step, cores, mb int
	seconds, last            float64 // predicted, of an instance in the mean and of the last
	begins, ends             []float64
}

// open adds a run. Its instances follow, at most so many.
func (r *room) open(h hold, most int) {
	n := len(r.held)
	r.held = slices.Grow(r.held, 1)[:n+1]
	h.begins, h.ends = slices.Grow(r.held[n].begins[:0], most), slices.Grow(r.held[n].ends[:0], most)
	r.held[n] = h
}

// note adds an instance of the run that was opened last; where none was, nobody looks.
func (r *room) note(begin, end float64) {
	if len(r.held) == 0 {
		return
	}
	h := &r.held[len(r.held)-1]
	h.begins, h.ends = append(h.begins, begin), append(h.ends, end)
}

// forget lets runs go that have ended.
func (r *room) forget(now float64) {
	n := 0
	for i := range r.held {
		if slices.Max(r.held[i].ends) > now {
			r.held[n], r.held[i] = r.held[i], r.held[n]
			n++
		}
	}
	r.held = r.held[:n]
}

// runs appends what is seen of the runs at a time, in the order in which they were decided.
func (r *room) runs(dst []Run, w *walk) []Run {
	now := w.origin + w.at.Now
	r.forget(now)
	for i := range r.held {
		h := &r.held[i]
		x := Run{Step: h.step, Cores: h.cores, MB: h.mb, Seconds: h.seconds, Last: h.last, Since: h.begins[0] - w.origin}
		if h.request != w.number {
			x.Step = -1
		}
		for k, begin := range h.begins {
			switch {
			case begin > now:
				x.Queued++
			case h.ends[k] > now:
				x.Started++
				x.Since = max(x.Since, begin-w.origin)
			}
		}
		dst = append(dst, x)
	}
	return dst
}
