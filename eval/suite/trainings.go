package suite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/durable"
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
		RunsDir: o.Runs, Name: t.Name, Count: new(atomic.Int64), Threads: 1, Catalog: catalog.Of(t.Experiment), Elsewhere: o.Elsewhere,
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

// memoDir is the folder below [Options.Runs] with the parts that [Memo] keeps, maxMemo the largest of them.
const (
	memoDir = ".suite"
	maxMemo = 1 << 28
)

// Memo returns what do returns, and keeps it below [Options.Runs], so that a suite that was stopped does no part twice.
// The key names the part and all that it depends on; what another build of the program left is not used.
func Memo[T any](o *Options, key string, do func() (T, error)) (T, error) {
	var out T
	program, err := thisProgram()
	if err != nil {
		return out, err
	}
	sum := sha256.Sum256([]byte(program + "\n" + key))
	path := filepath.Join(o.Runs, memoDir, hex.EncodeToString(sum[:16]))
	b, err := durable.ReadFile(durable.OS{}, path, maxMemo)
	switch {
	case err == nil:
		if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&out); err != nil {
			return out, fmt.Errorf("%s, which an earlier call kept: %w; remove it", path, err)
		}
		return out, nil
	case !errors.Is(err, fs.ErrNotExist):
		return out, err
	}
	if out, err = do(); err != nil {
		return out, err
	}
	var text bytes.Buffer
	if err := gob.NewEncoder(&text).Encode(out); err != nil {
		return out, fmt.Errorf("keeping %s: %w", key, err)
	}
	if err := durable.MkdirAll(durable.OS{}, filepath.Dir(path)); err != nil {
		return out, err
	}
	return out, durable.WriteFile(durable.OS{}, path, text.Bytes())
}

// thisProgram is the digest of the running program.
var thisProgram = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Close())
})
