package suite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/train"
)

// Training is a run that a suite plays: its name below [Options.Runs], and how it is trained.
type Training struct {
	Name       string
	Experiment *configs.Experiment
}

// Train carries out what is left to do of the trainings and returns their folders. Finished ones are taken as they are,
// stopped ones go on, others begin; so what one call of the suite trained is there for the next. A run of that name
// which was trained otherwise is an error that names the first difference.
func (o *Options) Train(ctx context.Context, stage string, trainings []Training) ([]string, error) {
	dirs := make([]string, len(trainings))
	var runs []train.Planned
	var total int64
	for i, t := range trainings {
		dirs[i] = filepath.Join(o.Runs, t.Name)
		p, left, err := o.planned(t, dirs[i])
		if err != nil {
			return nil, err
		}
		if left {
			runs, total = append(runs, *p), total+t.Experiment.Train.Steps
		}
	}
	stop := o.count(stage, runs, total)
	outcomes := train.Together(ctx, runs, o.workers())
	stop()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for i, out := range outcomes {
		if out.Err != nil {
			return nil, fmt.Errorf("training %s: %w", runs[i].Options.Name, out.Err)
		}
	}
	return dirs, nil
}

// planned is a training as package train takes it; left is false where it is finished.
func (o *Options) planned(t Training, dir string) (p *train.Planned, left bool, err error) {
	p = &train.Planned{Experiment: t.Experiment, Options: train.Options{
		RunsDir: o.Runs, Name: t.Name, Count: new(atomic.Int64), Threads: 1, Catalog: catalog.Of(t.Experiment),
		Version: o.made.Version, Revision: o.made.Revision, Command: os.Args,
	}}
	standing, err := train.ReadStanding(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, true, nil
	case err != nil:
		return nil, false, err
	}
	if err := train.Same(dir, t.Experiment); err != nil {
		return nil, false, fmt.Errorf("%w; another folder for the suite's runs: --runs DIR", err)
	}
	p.Resume = true
	p.Options.Count.Store(standing.Steps)
	return p, !standing.Finished(), nil
}

// count tells the progress of runs, in thousands of steps, about once a second until it is stopped.
func (o *Options) count(stage string, runs []train.Planned, total int64) (stop func()) {
	show := o.progress(stage + ", thousand steps")
	if show == nil || len(runs) == 0 {
		return func() {}
	}
	const thousand = 1000
	tell := func() {
		var done int64
		for i := range runs {
			done += runs[i].Options.Count.Load()
		}
		if done >= thousand {
			show(int(min(done, total)/thousand), int((total+thousand-1)/thousand))
		}
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				tell()
			case <-quit:
				tell()
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-ended
	}
}
