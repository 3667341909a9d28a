package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/train"
)

// Options say how a sweep is carried out; nothing here shapes its results.
type Options struct {
	// Jobs is the number of runs that are trained at a time.
	Jobs int
	// Train is what all runs share; RunsDir, Name, Out and Count are set for each run.
	Train train.Options
	// Out, where set, gives where a run's progress is written.
	Out func(r Run) io.Writer
	// Report, where set, is called about twice a second, and at the end.
	Report func(p Progress)
	// Ended, where set, is called when a run is over; several runs call it at the same time.
	Ended func(a Arm, r Run)
}

// Progress is how far a sweep is.
type Progress struct {
	Runs, Running, Finished, Failed int
	Steps, Planned                  int64
	// Planned leaves out what failed runs will not do. Rate is in environment steps a second over all runs since this
	// process began, Left the time to the end at that rate; both are 0 before the first step.
	Rate float64
	Left time.Duration
}

const reportEvery = 500 * time.Millisecond

// Run carries out all runs that are not finished: it begins those that have no folder and resumes the others. A run
// that fails is written down with its error and leaves the others alone; the error then tells how many did. When ctx
// ends, the runs under way save and stop, and the error is ctx's cause.
func (s *Sweep) Run(ctx context.Context, o Options) error {
	if err := durable.MkdirAll(durable.OS{}, s.Dir); err != nil {
		return fmt.Errorf("the sweep's folder: %w", err)
	}
	lock, err := durable.AcquireLock(filepath.Join(s.Dir, checkpoints.LockFile))
	if err != nil {
		return fmt.Errorf("sweep %s can't be carried out: %w", s.Dir, err)
	}
	err = s.locked(ctx, o)
	return errors.Join(err, lock.Release())
}

// locked is Run with the folder's lock held.
func (s *Sweep) locked(ctx context.Context, o Options) error {
	if err := durable.Sweep(durable.OS{}, s.Dir); err != nil {
		return err
	}
	var p *proposer
	defer func() { p.close() }()
	for {
		if s.asynchronous() {
			s.decide(o.Jobs)
		}
		list := s.targets()
		if err := errors.Join(s.write(), s.writeJournal()); err != nil {
			return err
		}
		if len(list) == 0 {
			more, err := s.propose(ctx, &p)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if !more {
				return err
			}
			continue
		}
		if err := s.round(ctx, list, o); err != nil || s.Plan.Study == nil {
			return err
		}
	}
}

// round carries targets out.
func (s *Sweep) round(ctx context.Context, list []target, o Options) error {
	c := &carrier{sweep: s, options: o, began: time.Now()}
	c.finished = s.done(list)
	c.planned, c.before = c.finished, c.finished
	for _, t := range list {
		if err := c.add(ctx, t); err != nil {
			return err
		}
	}
	stop := c.reports()
	jobs := o.Jobs
	if !s.asynchronous() {
		jobs = min(jobs, len(list))
	}
	outcomes := train.Flow(ctx, c.runs, jobs, func(int, train.Outcome) []train.Planned { return c.more(ctx) })
	stop()
	return c.result(ctx, outcomes)
}

// carrier is a sweep being carried out.
type carrier struct {
	sweep    *Sweep
	options  Options
	began    time.Time
	targets  []target
	runs     []train.Planned // of targets
	counts   []*atomic.Int64 // of runs: steps done
	planned  int64           // steps of all runs, at the end of this round
	finished int64           // steps of the runs that have nothing to do
	errs     []error         // of runs
	before   int64           // steps that were done before, those included
	lost     int64           // steps that failed runs will not do; guarded by the sweep's mutex
	broken   error           // sweep.json could not be written; guarded by the sweep's mutex
}

// add plans a run to carry out; the sweep's mutex is held where others are under way.
func (c *carrier) add(ctx context.Context, t target) error {
	p, err := c.plannedRun(*t.arm, *t.run)
	if err != nil {
		return err
	}
	i, count := len(c.runs), p.Options.Count
	p.Options.Until = t.until
	was, before := int64(0), count.Load()
	for k, o := range c.targets {
		if o.run == t.run { // an earlier rung in this round, whose steps are among those of this one
			was, before, c.counts[k] = o.until, 0, new(atomic.Int64)
		}
	}
	c.planned += t.until - was
	c.before += before
	p.Begin = func() { c.tell(t, Running, "", nil) }
	p.End = func(o train.Outcome) {
		err := c.end(ctx, t, o, count.Load())
		c.sweep.mu.Lock()
		c.errs[i] = err
		c.sweep.mu.Unlock()
	}
	c.targets, c.runs, c.counts, c.errs = append(c.targets, t), append(c.runs, p), append(c.counts, count), append(c.errs, nil)
	return nil
}

// more decides again in an asynchronous study, writes the decisions down, and returns the runs that they ask for.
func (c *carrier) more(ctx context.Context) []train.Planned {
	s := c.sweep
	if !s.asynchronous() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(c.runs)
	for _, t := range s.decide(c.options.Jobs) {
		if slices.ContainsFunc(c.targets, func(o target) bool { return o.run == t.run && o.until == t.until }) {
			continue // it is under way
		}
		if err := c.add(ctx, t); err != nil {
			c.broken = cmp.Or(c.broken, err)
			return nil
		}
	}
	if err := s.write(); err != nil {
		c.broken = cmp.Or(c.broken, err)
		return nil
	}
	return c.runs[n:]
}

// end scores a run of a study, and writes down what became of the run after so many steps. It returns why a study can't
// decide, or a sweep lacks a run.
func (c *carrier) end(ctx context.Context, t target, o train.Outcome, steps int64) error {
	studied := c.sweep.Plan.Study != nil
	var score *Score
	switch {
	case o.Err == nil && studied:
		var got Score
		if got, o.Err = c.sweep.score(t); o.Err == nil {
			score = &got
		}
	case studied && errors.Is(o.Err, train.ErrStep) && ctx.Err() == nil:
		got := c.sweep.failure(t)
		score = &got
	}
	if score != nil {
		c.sweep.mu.Lock()
		t.run.Scores = append(t.run.Scores, *score)
		c.sweep.mu.Unlock()
	}
	switch {
	case o.Err == nil && t.until < t.arm.Steps:
		c.tell(t, Paused, "", c.options.Ended)
	case o.Err == nil:
		c.tell(t, Finished, "", c.options.Ended)
	case ctx.Err() != nil && errors.Is(o.Err, context.Cause(ctx)):
		c.tell(t, Stopped, "", c.options.Ended)
	default:
		c.lose(t.until - steps)
		c.tell(t, Failed, o.Err.Error(), c.options.Ended)
	}
	if score != nil {
		return nil
	}
	return o.Err
}

// plannedRun is a run as package train takes it.
func (c *carrier) plannedRun(a Arm, r Run) (p train.Planned, err error) {
	p = train.Planned{Options: c.options.Train}
	if p.Experiment, err = c.sweep.Experiment(a, r.Seed); err != nil {
		return p, err
	}
	o := &p.Options
	o.RunsDir, o.Name, o.Terminal, o.Out, o.Count = c.sweep.Dir, r.Folder, false, io.Discard, new(atomic.Int64)
	if c.options.Out != nil {
		o.Out = c.options.Out(r)
	}
	standing, err := train.ReadStanding(c.sweep.Folder(r))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	p.Resume = true
	o.Count.Store(standing.Steps)
	return p, err
}

// tell writes a run's status down and passes it on.
func (c *carrier) tell(t target, status Status, text string, on func(Arm, Run)) {
	c.sweep.mu.Lock()
	t.run.Status, t.run.Error = status, text
	if err := c.sweep.write(); err != nil && c.broken == nil {
		c.broken = err
	}
	now := *t.run
	c.sweep.mu.Unlock()
	if on != nil {
		on(*t.arm, now)
	}
}

func (c *carrier) lose(steps int64) {
	c.sweep.mu.Lock()
	c.lost += steps
	c.sweep.mu.Unlock()
}

// reports calls Report now and then, until the returned function is called, which does so once more.
func (c *carrier) reports() (stop func()) {
	report := c.options.Report
	if report == nil {
		return func() {}
	}
	done, told := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(told)
		tick := time.NewTicker(reportEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				report(c.progress())
			case <-done:
				report(c.progress())
				return
			}
		}
	}()
	return func() { close(done); <-told }
}

func (c *carrier) progress() Progress {
	c.sweep.mu.Lock()
	p := Progress{Planned: c.planned - c.lost, Steps: c.finished}
	p.Runs, p.Finished = c.sweep.Runs(Finished)
	_, p.Failed = c.sweep.Runs(Failed)
	_, p.Running = c.sweep.Runs(Running)
	for _, n := range c.counts {
		p.Steps += n.Load()
	}
	c.sweep.mu.Unlock()
	if done := p.Steps - c.before; done > 0 {
		p.Rate = float64(done) / max(time.Since(c.began).Seconds(), 1e-3)
		p.Left = time.Duration(float64(max(p.Planned-p.Steps, 0)) / p.Rate * float64(time.Second))
	}
	return p
}

// result is the error that the sweep ends with.
func (c *carrier) result(ctx context.Context, outcomes []train.Outcome) error {
	if c.broken != nil {
		return fmt.Errorf("the sweep's status could not be written: %w", c.broken)
	}
	var failed []string
	stopped := false
	for i, o := range outcomes {
		switch {
		case !o.Begun, c.errs[i] != nil && ctx.Err() != nil && errors.Is(c.errs[i], context.Cause(ctx)):
			stopped = true
		case c.errs[i] != nil:
			line, _, _ := strings.Cut(c.errs[i].Error(), "\n")
			failed = append(failed, c.runs[i].Options.Name+": "+line)
		}
	}
	switch {
	case stopped && ctx.Err() != nil:
		return context.Cause(ctx)
	case len(failed) > 0:
		all, _ := c.sweep.Runs(Failed)
		if c.sweep.Plan.Study != nil {
			return fmt.Errorf("%d trials could not be trained or scored, so that their rung is not decided; mend the cause and go on:\n%s",
				len(failed), strings.Join(failed, "\n"))
		}
		return fmt.Errorf("%d of %d runs failed:\n%s", len(failed), all, strings.Join(failed, "\n"))
	}
	return nil
}
