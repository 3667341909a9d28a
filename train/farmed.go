package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/farm"
)

// window is the most units that are queued or under way: a queue takes memory.
const window = 10_000

// together is the most units that are queued at a time.
const together = 100

// lookEvery is how often the coordinator asks what workers do.
const lookEvery = 2 * time.Second

// farmed are runs that workers carry out.
type farmed struct {
	farm  farm.Farm
	runs  []Planned
	out   []Outcome
	units map[farm.Key][]int // the runs of a unit: equal ones are carried out once
	ready []farm.Result      // of units that had results before they were queued
	tasks []farm.Task        // of units that are to be queued
	left  int                // runs that are not over
	next  func(i int, o Outcome) []Planned
}

// elsewhere has workers carry the runs out, and puts what they leave where the runs would have left it. Of checkpoints,
// those that latest and best point at come back.
func elsewhere(ctx context.Context, e *Elsewhere, runs []Planned, more func(i int, o Outcome) []Planned) []Outcome {
	d := &farmed{farm: e.Farm, runs: slices.Clone(runs), out: make([]Outcome, len(runs)), units: map[farm.Key][]int{}, left: len(runs)}
	d.next = func(i int, o Outcome) []Planned {
		if ctx.Err() != nil {
			return nil
		}
		return more(i, o)
	}
	looking, stop := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	var late *farm.Result
	defer func() {
		stop()
		helpers.Wait()
		if late != nil {
			e.Keep(*late)
		}
	}()
	told, got, failed := make(chan []farm.Standing), make(chan farm.Result), make(chan error, 1)
	helpers.Go(func() { d.look(looking, told) })
	helpers.Go(func() { late = d.results(looking, got, failed) })
	for next := 0; d.left > 0; {
		if ctx.Err() != nil { // a result that is there would be taken all the same
			d.stop(ctx, context.Cause(ctx))
			return d.out
		}
		for ; next < len(d.runs) && len(d.units) < window; next++ {
			if err := d.submit(ctx, e, next); err != nil {
				d.end(next, Outcome{Begun: true, Err: err})
			}
			if len(d.tasks) == together { // the first workers need not wait for the last unit
				d.queue(ctx)
			}
		}
		d.queue(ctx)
		if len(d.ready) > 0 {
			d.take(ctx, e, d.ready[0])
			d.ready = d.ready[1:]
			continue
		}
		if d.left == 0 {
			break
		}
		select {
		case s := <-told:
			d.show(s)
		case r := <-got:
			d.take(ctx, e, r)
		case err := <-failed:
			d.stop(ctx, err)
			return d.out
		}
	}
	return d.out
}

// results passes on what workers have done, and returns the result that came too late for that.
func (d *farmed) results(ctx context.Context, got chan<- farm.Result, failed chan<- error) (late *farm.Result) {
	for {
		r, err := d.farm.Result(ctx)
		if err != nil {
			failed <- err
			return nil
		}
		select {
		case got <- r:
		case <-ctx.Done():
			failed <- context.Cause(ctx)
			return &r
		}
	}
}

// stop ends the study before its end. Where ctx has ended, the runs under way are stopped. Otherwise two results of a unit
// differ, or a result can't be read: a run of the unit gets the error, and the others go on in another process.
func (d *farmed) stop(ctx context.Context, err error) {
	var differ *farm.Conflict
	errors.As(err, &differ)
	at, units := -1, map[int]farm.Key{} // of runs that have no result
	for k, list := range d.units {
		for _, i := range list {
			units[i] = k
		}
	}
	for i, o := range d.out {
		u := units[i]
		switch {
		case u == "":
		case ctx.Err() == nil:
			if d.out[i] = (Outcome{}); at < 0 || differ != nil && differ.First.Key == u {
				at = i
			}
		case o.Begun:
			d.end(i, Outcome{Begun: true, Err: context.Cause(ctx)})
		}
	}
	if at >= 0 {
		d.end(at, Outcome{Begun: true, Err: err})
	}
}

// queue submits the units that submit has made ready; where that fails, so do their runs.
func (d *farmed) queue(ctx context.Context) {
	tasks := d.tasks
	if d.tasks = nil; len(tasks) == 0 {
		return
	}
	if err := d.farm.Submit(ctx, tasks...); err != nil {
		for i := range tasks {
			d.fail(tasks[i].Unit.Key(), err)
		}
	}
}

// fail ends a unit's runs with an error.
func (d *farmed) fail(k farm.Key, err error) {
	list := d.units[k]
	delete(d.units, k)
	for _, i := range list {
		d.end(i, Outcome{Begun: true, Err: err})
	}
}

// submit makes a run's unit ready to be queued, with what it has done already.
func (d *farmed) submit(ctx context.Context, e *Elsewhere, i int) error {
	p := &d.runs[i]
	if !p.Resume {
		dir, err := Folder(p.Experiment, p.Options)
		if err != nil {
			return err
		}
		p.Options.Name = filepath.Base(dir)
	}
	u, inputs, err := p.unit(e)
	if err != nil {
		return err
	}
	k := u.Key()
	d.units[k] = append(d.units[k], i)
	if len(d.units[k]) > 1 {
		return nil
	}
	if r, ok := e.Kept(k); ok {
		delete(e.early, k)
		d.ready = append(d.ready, r)
		return nil
	}
	t := farm.Task{Unit: u}
	if p.Resume {
		equal, beside, err := left(filepath.Join(p.Options.RunsDir, p.Options.Name))
		if err == nil {
			t.Kept = append(equal, beside...)
			err = farm.PutFiles(ctx, d.farm, k, filepath.Join(p.Options.RunsDir, p.Options.Name), t.Kept)
		}
		if err != nil {
			delete(d.units, k)
			return err
		}
	}
	for path, f := range inputs {
		if err := farm.PutFile(ctx, d.farm, farm.InputsKey, path, f); err != nil {
			delete(d.units, k)
			return err
		}
	}
	d.tasks = append(d.tasks, t)
	return nil
}

// take puts a unit's result into the runs' folders.
func (d *farmed) take(ctx context.Context, e *Elsewhere, r farm.Result) {
	list := d.units[r.Key]
	if len(list) == 0 {
		e.Keep(r)
		return
	}
	for n, i := range list {
		d.begin(i)
		o := Outcome{Begun: true}
		switch {
		case r.Gone:
			o.Err = farm.ErrGone
		case r.AtStep: // it is the same, whichever worker it was
			o.Err = stepError{errors.New(r.Error)}
		case r.Error != "":
			o.Err = fmt.Errorf("worker %s: %s", r.Worker, r.Error)
		default:
			o.Result, o.Err = d.place(ctx, r, d.runs[i])
		}
		if errors.Is(o.Err, farm.ErrGone) && n == 0 {
			d.again(ctx, e, r.Key)
			return
		}
		d.end(i, o)
	}
	delete(d.units, r.Key)
	// What is not dropped stays until the study ends.
	_ = d.farm.Drop(ctx, r.Key, append(r.Files, r.Beside...))
}

// again asks anew for a unit whose files went to another coordinator.
func (d *farmed) again(ctx context.Context, e *Elsewhere, k farm.Key) {
	list := d.units[k]
	delete(d.units, k)
	for _, i := range list {
		if err := d.submit(ctx, e, i); err != nil {
			d.end(i, Outcome{Begun: true, Err: err})
		}
	}
}

// place writes a result's files, under another name first, where the run would have written them.
func (d *farmed) place(ctx context.Context, r farm.Result, p Planned) (*Result, error) {
	o, fsys := p.Options, durable.OS{}
	dir, temp := filepath.Join(o.RunsDir, o.Name), filepath.Join(o.RunsDir, durable.TempPrefix+o.Name)
	if err := durable.RemoveTree(fsys, temp); err != nil {
		return nil, err
	}
	if err := farm.GetFiles(ctx, d.farm, r.Key, temp, append(r.Files, r.Beside...)); err != nil {
		return nil, err
	}
	at, err := checkpoints.Find(fsys, temp, checkpoints.Latest)
	if err != nil {
		return nil, fmt.Errorf("worker %s left no checkpoint: %w", r.Worker, err)
	}
	if _, err := checkpoints.Open(at); err != nil {
		return nil, fmt.Errorf("what worker %s left: %w", r.Worker, err)
	}
	if err := own(temp, p.Experiment); err != nil {
		return nil, fmt.Errorf("what worker %s left: %w", r.Worker, err)
	}
	if p.Resume { // an earlier part of the run
		err = install(temp, dir, p.Experiment.Train.Checkpoint.Keep)
	} else if _, there := os.Lstat(dir); there == nil {
		err = exists(dir)
	} else {
		err = fsys.Rename(temp, dir)
	}
	if err != nil {
		return nil, err
	}
	res := &Result{}
	if err := json.Unmarshal(r.Summary, res); err != nil {
		return nil, fmt.Errorf("what worker %s says: %w", r.Worker, err)
	}
	res.Dir, res.Checkpoint = dir, filepath.Join(dir, strings.TrimPrefix(at, temp))
	return res, fsys.SyncDir(o.RunsDir)
}

// install moves what a worker left of a run in temp into the run's folder: what else is there, such as evaluations, stays. The
// pointers come last: until then the run is as it was. Older checkpoints go, but where keep is 0.
func install(temp, dir string, keep int) error {
	fsys := durable.OS{}
	lock, err := durable.AcquireLock(filepath.Join(dir, checkpoints.LockFile))
	if err != nil {
		return err
	}
	defer func() { _ = lock.Release() }() // the process's end does so, too
	var files, pointers []string
	brought := map[string]bool{} // checkpoints
	err = filepath.WalkDir(temp, func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(temp, path) // path is below temp
		switch {
		case err != nil:
			return err
		case filepath.Dir(name) == checkpoints.CheckpointsDir && e.IsDir():
			brought[e.Name()] = true
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil { // it began there
				return fs.SkipDir
			}
			files = append(files, name)
			return fs.SkipDir
		case filepath.Dir(name) == checkpoints.CheckpointsDir:
			pointers = append(pointers, name)
		case e.IsDir():
			return durable.MkdirAll(fsys, filepath.Join(dir, name))
		default:
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Concat(files, pointers) {
		to := filepath.Join(dir, name)
		if err := errors.Join(fsys.Rename(filepath.Join(temp, name), to), fsys.SyncDir(filepath.Dir(to))); err != nil {
			return err
		}
	}
	store := filepath.Join(dir, checkpoints.CheckpointsDir)
	there, err := os.ReadDir(store)
	for _, e := range there {
		if e.IsDir() && !brought[e.Name()] && keep > 0 {
			err = errors.Join(err, durable.Retire(fsys, filepath.Join(store, e.Name())))
		}
	}
	return errors.Join(err, durable.RemoveTree(fsys, temp))
}

// begin tells that a run is under way, once.
func (d *farmed) begin(i int) {
	if !d.out[i].Begun {
		d.out[i].Begun = true
		if f := d.runs[i].Begin; f != nil {
			f()
		}
	}
}

// end notes what became of a run.
func (d *farmed) end(i int, o Outcome) {
	d.out[i] = o
	p := d.runs[i]
	if c := p.Options.Count; c != nil && o.Result != nil {
		c.Store(o.Result.Steps)
	}
	if p.End != nil {
		p.End(o)
	}
	d.left--
	for _, p := range d.next(i, o) {
		d.runs, d.out = append(d.runs, p), append(d.out, Outcome{})
		d.left++
	}
}

// look passes on what workers do, now and then.
func (d *farmed) look(ctx context.Context, to chan<- []farm.Standing) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		told, err := d.farm.Told(ctx)
		if err != nil { // it is for people: the next one may come
			continue
		}
		select {
		case to <- told:
		case <-ctx.Done():
			return
		}
	}
}

// show tells which runs are under way, and how far they are.
func (d *farmed) show(told []farm.Standing) {
	for _, s := range told {
		for _, u := range s.Units {
			for _, i := range d.units[u.Key] {
				d.begin(i)
				if c := d.runs[i].Options.Count; c != nil && u.Steps > c.Load() {
					c.Store(u.Steps)
				}
			}
		}
	}
}
