package eval

import (
	"context"
	"sync"
)

// Each does n independent parts on as many goroutines as there are workers, at least one. Parts are begun in the
// order of their numbers; do is told the number of its worker, from 0, and of its part. After a failure no further
// part is begun; of several errors that of the lowest part is returned, whichever came first. Where ctx ends, so does
// Each, after the parts under way, with ctx's cause. Progress, where set, is told after every part that succeeded how
// many are done, never twice at a time.
func Each(ctx context.Context, workers, n int, progress func(done, all int), do func(worker, part int) error) error {
	var (
		wait   sync.WaitGroup
		mu     sync.Mutex
		next   int
		failed bool
		errs   = make([]error, n)
		count  = counter(progress, n)
	)
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		if failed || next == n || ctx.Err() != nil {
			return n
		}
		next++
		return next - 1
	}
	finish := func(part int, err error) {
		if err == nil {
			count()
			return
		}
		mu.Lock()
		defer mu.Unlock()
		errs[part], failed = err, true
	}
	for w := range min(max(1, workers), n) {
		wait.Go(func() {
			for part := take(); part < n; part = take() {
				finish(part, do(w, part))
			}
		})
	}
	wait.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// counter returns a function that counts one more of n as done, for any goroutine.
func counter(progress func(done, all int), n int) func() {
	var mu sync.Mutex
	done := 0
	return func() {
		mu.Lock()
		defer mu.Unlock()
		if done++; progress != nil {
			progress(done, n)
		}
	}
}
