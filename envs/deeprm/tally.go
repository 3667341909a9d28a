package deeprm

// tally counts an episode's jobs.
type tally struct {
	finished, dropped int
	slowdown, mean    float64 // summed over finished jobs, and their mean
}

// cut is the mean slowdown with the jobs that a cut leaves behind, each counted with the time that it has been there: a policy that
// leaves jobs waiting must not look fast by those that it finished.
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
