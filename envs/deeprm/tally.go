package deeprm

// tally counts an episode's jobs.
type tally struct {
	finished, dropped int
	slowdown, mean    float64 // summed over finished jobs, and their mean
}

// cut is the mean slowdown when an episode is cut. The jobs left behind count with their time so far, so that a policy
// that leaves jobs waiting does not look fast.
func (e *Env) cut() float64 {
	sum, n := e.tally.slowdown, e.tally.finished
	count := func(i int32) {
		sum += float64(e.now-i) / float64(e.jobs[i].length)
		n++
	}
	for _, i := range e.active {
		count(i)
	}
	for _, i := range e.visible {
		if i >= 0 {
			count(i)
		}
	}
	for k := range e.waiting {
		count(e.backlog[(e.first+k)%len(e.backlog)])
	}
	return sum / float64(max(n, 1))
}
