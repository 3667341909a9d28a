package native

// Share does parts 0 … parts−1 of what must be done between updates, such as bringing a minibatch, side by side on the engine's threads, and returns when all
// are done: part i on worker w < Workers, and no two parts on one worker at once. As many threads as the last update thought best take part; in which
// order is not said.
func (e *engine[T]) Share(parts int, part func(i, w int)) {
	if e.tiler == nil {
		for i := range parts {
			part(i, 0)
		}
		return
	}
	e.tiler.shared.do = part
	helpers.do(&e.tiler.shared, parts, max(1, e.tiler.lately))
}

// Workers is how many parts of Share may be under way at once.
func (e *engine[T]) Workers() int {
	if e.tiler == nil {
		return 1
	}
	return e.tiler.threads
}

// sharedJob is what Share was given, as a job.
type sharedJob struct{ do func(i, w int) }

func (j *sharedJob) part(i, w int) { j.do(i, w) }
