package suite

import (
	"context"
	"sync"
)

// Each does n independent parts of a stage with the options' workers, in order of their numbers as workers become free. After a failure no
// further part is begun; of several errors that of the lowest number is returned, whoever came first. Where ctx ends, so
// does Each after the parts under way, with ctx's cause.
func Each(ctx context.Context, o *Options, stage string, n int, do func(i int) error) error {
	count := o.counter(stage, n)
	return parallel(ctx, o.workers(), n, func(i int) error {
		err := do(i)
		if err == nil {
			count(1)
		}
		return err
	})
}

// counter returns a function that tells the progress of n parts, for any goroutine.
func (o *Options) counter(stage string, n int) func(done int) {
	var mu sync.Mutex
	all := 0
	return func(done int) {
		mu.Lock()
		defer mu.Unlock()
		if all += done; o.Progress != nil {
			o.Progress(stage, all, n)
		}
	}
}

func parallel(ctx context.Context, workers, n int, do func(i int) error) error {
	var (
		wait sync.WaitGroup
		mu   sync.Mutex
		next int
		fail bool
		errs = make([]error, n)
	)
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		if fail || ctx.Err() != nil {
			return n
		}
		next++
		return min(next-1, n)
	}
	for range min(max(1, workers), n) {
		wait.Go(func() {
			for i := take(); i < n; i = take() {
				if err := do(i); err != nil {
					mu.Lock()
					errs[i], fail = err, true
					mu.Unlock()
				}
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
