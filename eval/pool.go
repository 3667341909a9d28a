package eval

import (
	"context"
	"sync"
	"time"
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

// Progress says how far an evaluation is.
type Progress struct {
	// Done of All episodes are played.
	Done, All int
	// Work is the share of the work that is done, 0 to 1. An episode of a contestant counts as its episodes took so
	// far: one of an oracle that plans can take a hundred times as long as one of a rule.
	Work float64
	// Left is the time until the end; it is known once every contestant has played an episode.
	Left  time.Duration
	Known bool
}

// meter measures what the episodes of each contestant take.
type meter struct {
	mu     sync.Mutex
	begun  time.Time
	took   []time.Duration // by contestant, summed over its episodes
	done   []int
	all    []int
	report func(Progress)
}

func newMeter(r *Request) *meter {
	n := len(r.Contestants)
	m := &meter{begun: time.Now(), took: make([]time.Duration, n), done: make([]int, n), report: r.Progress}
	for i := range r.Contestants {
		m.all = append(m.all, len(r.Contestants[i].Versions)*len(r.Seeds))
	}
	return m
}

// add counts an episode of a contestant, and reports.
func (m *meter) add(contestant int, took time.Duration) {
	if m.report == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.took[contestant] += max(took, 1)
	m.done[contestant]++
	m.report(m.progress(time.Since(m.begun)))
}

// progress is what is known after some time. Contestants without an episode count like the mean of the others.
func (m *meter) progress(elapsed time.Duration) Progress {
	p := Progress{Known: true}
	spent, left := 0.0, 0.0
	for i := range m.all {
		p.Done, p.All = p.Done+m.done[i], p.All+m.all[i]
		spent += float64(m.took[i])
	}
	for i := range m.all {
		each := spent / float64(max(p.Done, 1))
		if m.done[i] > 0 {
			each = float64(m.took[i]) / float64(m.done[i])
		} else {
			p.Known = false
		}
		left += each * float64(m.all[i]-m.done[i])
	}
	if spent+left > 0 {
		p.Work = spent / (spent + left)
	}
	// As many episodes run at a time from now on as did so far.
	if parallel := spent / float64(max(elapsed, 1)); parallel > 0 {
		p.Left = time.Duration(left / parallel)
	}
	return p
}
