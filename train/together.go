package train

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/farm"
)

// Planned is a run to start.
type Planned struct {
	Experiment *configs.Experiment
	Options    Options
	// Resume continues the run of that name from its latest checkpoint; Experiment is not used then.
	Resume bool
	// Begin and End, where set, are called when the run's turn comes and when it is over. Those of several runs are
	// called at the same time.
	Begin func()
	End   func(Outcome)
}

// Outcome is what became of a planned run. Begun is false where ctx ended before its turn.
type Outcome struct {
	Begun  bool
	Result *Result // nil where there is no folder
	Err    error
}

// Together carries out runs side by side, at most jobs at a time, in their order, and waits for all. Each run gets its
// part of the cores where its options leave the number of threads open, and leaves the same bytes as alone. The others
// go on where one fails. When ctx ends, the runs under way save, and the rest are not begun.
//
// Where the runs' options have workers elsewhere, those carry the runs out, and jobs is not used.
func Together(ctx context.Context, runs []Planned, jobs int) []Outcome {
	return Flow(ctx, runs, min(jobs, len(runs)), func(int, Outcome) []Planned { return nil })
}

// Flow is [Together] where runs follow from what became of others: after each run, next is told its number and outcome, one
// at a time, and returns more. Their numbers follow those of the runs before. Where ctx has ended, next is not asked.
func Flow(ctx context.Context, runs []Planned, jobs int, next func(i int, o Outcome) []Planned) []Outcome {
	if len(runs) == 0 {
		return nil
	}
	if runs[0].Options.Elsewhere != nil {
		return elsewhere(ctx, runs[0].Options.Elsewhere, runs, next)
	}
	jobs = max(1, jobs)
	threads := max(1, runtime.GOMAXPROCS(0)/jobs)
	runs = slices.Clone(runs)
	out := make([]Outcome, len(runs))
	f := farm.NewOwn()
	submit := func(i int) {
		// What it computes stays in this process: its place in the list is all that the worker needs.
		_ = f.Submit(ctx, farm.Task{Unit: farm.Unit{Kind: farm.Train, Config: []byte(strconv.Itoa(i))}}) // never fails
	}
	for i := range runs {
		submit(i)
	}
	var mu sync.Mutex // guards runs, out and left
	left := len(runs)
	end := func(i int, o Outcome) {
		mu.Lock()
		defer mu.Unlock()
		out[i] = o
		left--
		if ctx.Err() == nil {
			for _, p := range next(i, o) {
				runs, out = append(runs, p), append(out, Outcome{})
				left++
				submit(len(runs) - 1)
			}
		}
		if left == 0 {
			_ = f.Close() // no more units: workers end, and it never fails
		}
	}
	// Where ctx ends, runs under way save, and their outcomes say so.
	_ = farm.Work(ctx, f, farm.Worker{Slots: jobs, Do: func(ctx context.Context, l *farm.Lease, _ *atomic.Int64) (
		farm.Result, []farm.File, error) {
		i, err := strconv.Atoi(string(l.Unit.Config))
		if err != nil {
			return farm.Result{}, nil, err
		}
		mu.Lock()
		p := runs[i]
		mu.Unlock()
		o := p.Options
		if o.Threads == 0 && jobs > 1 {
			o.Threads = threads
		}
		end(i, p.carryOut(ctx, o))
		return farm.Result{}, nil, nil
	}})
	return out
}

// carryOut starts or resumes the run, and tells when.
func (p Planned) carryOut(ctx context.Context, o Options) Outcome {
	if p.Begin != nil {
		p.Begin()
	}
	out := Outcome{Begun: true}
	out.Result, out.Err = p.guarded(ctx, o)
	if p.End != nil {
		p.End(out)
	}
	return out
}

// guarded is Start or Resume, where a bug that panics is the run's own failure and not the others'.
func (p Planned) guarded(ctx context.Context, o Options) (res *Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panicked, which is a bug: %v\n%s", r, debug.Stack())
		}
	}()
	if p.Resume {
		return Resume(ctx, filepath.Join(o.RunsDir, o.Name), o)
	}
	return Start(ctx, p.Experiment, o)
}
