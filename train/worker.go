package train

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/farm"
)

// Worker carries out units that train, for a farm.
type Worker struct {
	Farm farm.Farm
	// Options are those of its runs; RunsDir, Name, Count and Inexact are set for each.
	Options Options
	// Scratch is the folder in which units have folders of their own, which go when the unit is over.
	Scratch string
	// Data are folders in which inputs are looked for, by name and hash. What is not there is fetched, FetchLimit bytes of a
	// unit at most.
	Data       []string
	FetchLimit int
	// MaxSteps is the most environment steps of a unit.
	MaxSteps int
	// MaxMemory, where positive, is the most bytes of memory of this process; a unit under way that needs more ends with an
	// error. It is for workers of one unit at a time: whose memory it is cannot be told.
	MaxMemory int
	// Revision and Kernels are this program's; units of others are refused unless Inexact is set.
	Revision, Kernels string
	Inexact           bool
	// Evaluate, where set, carries out a unit that evaluates: inputs is the folder of what it names, and the files that are
	// its result are written to dir.
	Evaluate func(ctx context.Context, w *Worker, u *farm.Unit, inputs, dir string, steps *atomic.Int64) (
		summary any, files []string, err error)

	parts sync.Map // *world by what it plays: see part
}

// here are errors of this machine: another worker may do better.
var here = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.EMFILE, fs.ErrPermission}

// Do carries a unit out: it is that of [farm.Worker]. The unit is data from elsewhere: it names no path and no command of
// this machine, and what is wrong with it is its result.
func (w *Worker) Do(ctx context.Context, l *farm.Lease, steps *atomic.Int64) (r farm.Result, kept []farm.File, err error) {
	foreign := l.Unit.Refuses(w.Revision, w.Kernels)
	if foreign != nil && !w.Inexact {
		return r, l.Kept, foreign
	}
	r.Inexact = foreign != nil
	scratch, err := os.MkdirTemp(w.Scratch, "unit-")
	if err != nil {
		return r, l.Kept, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	var res any
	var dir string
	var files []string
	unit, over := w.bounded(ctx)
	if l.Unit.Kind == farm.Evaluate && w.Evaluate != nil {
		res, dir, files, err = w.evaluate(unit, &l.Unit, scratch, steps)
	} else if l.Unit.Kind == farm.Rollout {
		res, dir, files, err = w.rollout(unit, &l.Unit, scratch, steps)
	} else {
		res, dir, err = w.train(unit, l, scratch, steps)
	}
	if large := over(); err != nil && large != nil && ctx.Err() == nil {
		err = fmt.Errorf("unit %s: %w", l.Unit.Name, large)
	}
	switch {
	case err == nil:
		r.Summary, err = json.Marshal(res)
	case ctx.Err() != nil: // it has saved, or had not begun
		if dir != "" && errors.Is(err, context.Cause(ctx)) {
			if equal, beside, bad := left(dir); bad == nil {
				kept = append(equal, beside...)
			}
		}
		if kept == nil || farm.PutFiles(context.WithoutCancel(ctx), w.Farm, l.Key, dir, kept) != nil {
			kept = l.Kept
		}
		return r, kept, err
	default:
		for _, e := range here {
			if errors.Is(err, e) {
				return r, l.Kept, err
			}
		}
		r.Error, r.AtStep, r.Gone = err.Error(), errors.Is(err, ErrStep), errors.Is(err, farm.ErrGone)
		return r, nil, nil
	}
	switch {
	case err != nil:
	case files != nil:
		r.Files, err = readFiles(dir, files)
	default:
		r.Files, r.Beside, err = left(dir)
	}
	if err == nil {
		err = farm.PutFiles(context.WithoutCancel(ctx), w.Farm, l.Key, dir, append(r.Files[:len(r.Files):len(r.Files)], r.Beside...))
	}
	return r, l.Kept, err
}

// bounded returns a context that ends when the process uses more than MaxMemory. A watch looks 20 times a second: a unit may
// be above the bound for that long. over ends the watch; its error says what was used, and is nil where that was not too much.
func (w *Worker) bounded(ctx context.Context) (unit context.Context, over func() error) {
	if w.MaxMemory <= 0 {
		return ctx, func() error { return nil }
	}
	unit, end := context.WithCancelCause(ctx)
	before := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(before, int64(w.MaxMemory))) // garbage goes before anything is over the bound
	var large error
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.Tick(50 * time.Millisecond)
		for {
			if inUse() > uint64(w.MaxMemory) {
				debug.FreeOSMemory()
			}
			if used := inUse(); used > uint64(w.MaxMemory) {
				large = fmt.Errorf("it needs %d MiB of memory or more, this worker gives %d MiB: see --max-memory", used>>20, w.MaxMemory>>20)
				end(large)
				return
			}
			select {
			case <-tick:
			case <-unit.Done():
				return
			}
		}
	})
	return unit, func() error {
		end(nil)
		watch.Wait()
		debug.SetMemoryLimit(before)
		return large
	}
}

// inUse is what the Go runtime has of the system, in bytes.
func inUse() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}

// evaluate has a unit evaluated in a folder of scratch.
func (w *Worker) evaluate(ctx context.Context, u *farm.Unit, scratch string, steps *atomic.Int64) (res any, dir string, files []string,
	err error) {
	if err := harmless(u.Config); err != nil {
		return nil, "", nil, fmt.Errorf("unit %s: %w", u.Name, err)
	}
	inputs, err := w.inputs(ctx, u, scratch)
	if err != nil {
		return nil, "", nil, err
	}
	if dir, err = os.MkdirTemp(scratch, "evaluation-"); err != nil {
		return nil, "", nil, err
	}
	res, files, err = w.Evaluate(ctx, w, u, inputs, dir, steps)
	return res, dir, files, err
}

// train starts or resumes the unit's run in a folder of scratch.
func (w *Worker) train(ctx context.Context, l *farm.Lease, scratch string, steps *atomic.Int64) (res *Result, dir string, err error) {
	u := &l.Unit
	o := w.Options.filled()
	o.FS = durable.Unsynced{} // scratch is nobody's after a power cut
	o.RunsDir, o.Name, o.Count, o.Inexact, o.Until = scratch, u.Name, steps, w.Inexact, u.Until
	if o.Name == "" {
		o.Name = "unit"
	}
	if u.Kind != farm.Train {
		return nil, "", fmt.Errorf("unit %s: kind is %s, want %s", u.Name, u.Kind, farm.Train)
	}
	if err := harmless(u.Config); err != nil {
		return nil, "", fmt.Errorf("unit %s: %w", u.Name, err)
	}
	x, err := configs.ParseResolved("unit "+u.Name, u.Config, nil, o.Catalog)
	if err != nil {
		return nil, "", err
	}
	if n := cmp.Or(u.Until, x.Train.Steps); n > int64(w.MaxSteps) {
		return nil, "", fmt.Errorf("unit %s: it has %d steps, this worker does at most %d: see --max-steps", u.Name, n, w.MaxSteps)
	}
	x.Seed, x.Engine.Device = u.Seed, "cpu"
	inputs, err := w.inputs(ctx, u, scratch)
	if err != nil {
		return nil, "", err
	}
	if x, err = Relocated(x, inputs); err != nil {
		return nil, "", err
	}
	dir = filepath.Join(scratch, o.Name)
	p := Planned{Experiment: x, Options: o}
	if len(l.Kept) > 0 {
		if err := farm.GetFiles(ctx, w.Farm, l.Key, dir, l.Kept); err != nil {
			return nil, "", err
		}
		if err := own(dir, x); err != nil {
			return nil, "", err
		}
		p.Resume = true
	}
	out := p.carryOut(ctx, o)
	return out.Result, dir, out.Err
}

// inputs returns a folder with the unit's inputs: files under Data, and those that had to be fetched.
func (w *Worker) inputs(ctx context.Context, u *farm.Unit, scratch string) (string, error) {
	inputs := filepath.Join(scratch, "inputs")
	budget := int64(w.FetchLimit)
	for name, hash := range u.Inputs {
		at := filepath.Join(inputs, filepath.FromSlash(name))
		if err := durable.MkdirAll(durable.OS{}, filepath.Dir(at)); err != nil {
			return "", err
		}
		if found := w.find(name, hash); found != "" {
			if err := os.Symlink(found, at); err != nil {
				return "", err
			}
			continue
		}
		n, err := w.fetch(ctx, at, farm.File{Name: name, Hash: hash, Size: budget})
		if err != nil {
			return "", fmt.Errorf("unit %s: input %s is in no folder of --data (%s), and can't be fetched: %w", u.Name, name,
				cmp.Or(strings.Join(w.Data, ", "), "none is given"), err)
		}
		budget -= n
	}
	return inputs, nil
}

// Relocated returns the experiment with paths in a folder of inputs.
func Relocated(x *configs.Experiment, inputs string) (*configs.Experiment, error) {
	return eachPath(x, func(p string) (string, error) {
		at := filepath.Join(inputs, filepath.Base(p))
		if _, err := os.Stat(at); err != nil {
			return "", fmt.Errorf("%s is not among the unit's inputs", p)
		}
		return at, nil
	})
}

// find looks for an input under Data; empty where it is not there.
func (w *Worker) find(name string, hash farm.Hash) (found string) {
	for _, d := range w.Data {
		if real, err := filepath.EvalSymlinks(d); err == nil { // a link is not walked
			d = real
		}
		_ = filepath.WalkDir(d, func(file string, e fs.DirEntry, err error) error { // what can't be read is not there
			if err != nil || e.IsDir() || e.Name() != path.Base(name) {
				return nil //nolint:nilerr // see above
			}
			if f, err := farm.ReadFile(filepath.Dir(file), e.Name()); err == nil && f.Hash == hash {
				if found, err = filepath.Abs(file); err == nil {
					return fs.SkipAll
				}
			}
			return nil
		})
	}
	return found
}

// fetch gets an input of at most f.Size bytes from the farm.
func (w *Worker) fetch(ctx context.Context, at string, f farm.File) (int64, error) {
	r, err := w.Farm.Get(ctx, farm.InputsKey, f)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, f.Size+1))
	switch {
	case err != nil:
		return 0, err
	case int64(len(b)) > f.Size:
		return 0, fmt.Errorf("it is larger than --fetch-limit leaves, %d bytes", f.Size)
	case farm.HashOf(b) != f.Hash:
		return 0, errors.New("it came damaged")
	}
	return int64(len(b)), durable.WriteFile(durable.OS{}, at, b)
}

// harmless refuses a configuration with a string that could be a path out of the unit's folder.
func harmless(config json.RawMessage) error {
	var v any
	if err := json.Unmarshal(config, &v); err != nil {
		return err
	}
	return eachString("", v, func(key, s string) error {
		if strings.ContainsAny(s, "\\\x00") || strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~") ||
			strings.Contains("/"+s+"/", "/../") {
			return fmt.Errorf("%s is %.80q: a path of this machine is nothing for workers of a farm", key, s)
		}
		return nil
	})
}

func eachString(key string, v any, f func(key, s string) error) error {
	switch v := v.(type) {
	case string:
		return f(key, v)
	case []any:
		for _, e := range v {
			if err := eachString(key, e, f); err != nil {
				return err
			}
		}
	case map[string]any:
		for k, e := range v {
			if err := eachString(strings.TrimPrefix(key+"."+k, "."), e, f); err != nil {
				return err
			}
		}
	}
	return nil
}
