package train

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/farm"
	"github.com/stoker-rl/stoker/nets/engines"
)

// Elsewhere says that the runs of [Together] are carried out by the workers of a farm, and comes with what they must share
// with the coordinator.
type Elsewhere struct {
	Farm              farm.Farm
	Revision, Kernels string

	hashed map[string]farm.File // by path: all runs of a study have the same traces
	// early are results for which nobody waited: a worker outlived the coordinator that sent it the unit, or the unit is
	// asked for again. A farm gives each result once.
	early map[farm.Key]farm.Result
}

// read describes a file of the configuration.
func (e *Elsewhere) read(dir, name string) (f farm.File, err error) {
	path := filepath.Join(dir, name)
	if f, ok := e.hashed[path]; ok {
		return f, nil
	}
	if e.hashed == nil {
		e.hashed = map[string]farm.File{}
	}
	if f, err = farm.ReadFile(dir, name); err == nil {
		e.hashed[path] = f
	}
	return f, err
}

// Kernels is the family of inner loops of the native engine on this machine.
func Kernels() (string, error) {
	e, err := engines.Open(engines.Native, engines.Options{Device: "cpu", Threads: 1})
	if err != nil {
		return "", err
	}
	return e.Info().Kernels, e.Close()
}

// Keep keeps a result for whoever waits for its unit later.
func (e *Elsewhere) Keep(r farm.Result) {
	if e.early == nil {
		e.early = map[farm.Key]farm.Result{}
	}
	e.early[r.Key] = r
}

// Kept is the result of a unit that was kept.
func (e *Elsewhere) Kept(k farm.Key) (r farm.Result, ok bool) {
	r, ok = e.early[k]
	return r, ok
}

// unit is the run as a value, with the files that its configuration names, by their paths here.
func (p Planned) unit(e *Elsewhere) (u farm.Unit, inputs map[string]farm.File, err error) {
	x := p.Experiment
	switch {
	case x.Engine.Name != engines.Native:
		return u, nil, Usage("engine %s: workers of a farm train with the engine %s alone; want --engine %s, or leave --listen out",
			x.Engine.Name, engines.Native, engines.Native)
	case p.Options.InitFrom != "":
		return u, nil, Usage("--init-from is not for workers of a farm: leave --listen out")
	}
	u = farm.Unit{Name: p.Options.Name, Kind: farm.Train, Seed: x.Seed, Revision: e.Revision, Kernels: e.Kernels,
		Inputs: map[string]farm.Hash{}}
	if n := p.Options.Until; n < x.Train.Steps { // the same unit where it is the end
		u.Until = n
	}
	if u.Config, inputs, err = e.Describe(x); err != nil {
		return u, nil, err
	}
	for _, f := range inputs {
		u.Inputs[f.Name] = f.Hash
	}
	return u, inputs, u.Check()
}

// Share describes an experiment to workers, and stores the files that it names: a unit to which is added what is wanted.
func (e *Elsewhere) Share(ctx context.Context, kind farm.Kind, x *configs.Experiment) (*farm.Unit, error) {
	u := &farm.Unit{Kind: kind, Seed: x.Seed, Revision: e.Revision, Kernels: e.Kernels, Inputs: map[string]farm.Hash{}}
	var inputs map[string]farm.File
	var err error
	if u.Config, inputs, err = e.Describe(x); err != nil {
		return nil, err
	}
	for path, f := range inputs {
		if err := farm.PutFile(ctx, e.Farm, farm.InputsKey, path, f); err != nil {
			return nil, err
		}
		u.Inputs[f.Name] = f.Hash
	}
	return u, nil
}

// Describe returns what a unit says of an experiment, and the files that it names, by their paths here.
func (e *Elsewhere) Describe(x *configs.Experiment) (config json.RawMessage, inputs map[string]farm.File, err error) {
	if x, err = located(x); err != nil {
		return nil, nil, err
	}
	if config, err = shapeOf(x); err != nil {
		return nil, nil, err
	}
	if err := harmless(config); err != nil {
		return nil, nil, err
	}
	inputs, roots := map[string]farm.File{}, map[string]string{}
	_, err = eachPath(x, func(path string) (string, error) {
		base := filepath.Base(path)
		if was, ok := roots[base]; ok && was != path {
			return "", Usage("%s and %s are both called %s: workers of a farm could not tell them apart", was, path, base)
		}
		roots[base] = path
		real, err := filepath.EvalSymlinks(path) // a link is not walked
		if err != nil {
			return "", err
		}
		return path, filepath.WalkDir(real, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel(real, file)
			if err != nil {
				return err
			}
			f, err := e.read(filepath.Dir(path), filepath.Join(base, rel))
			inputs[file] = f
			return err
		})
	})
	return config, inputs, err
}

// own writes config.yaml anew, as x has it: the data lie elsewhere, and what only says how a run is carried out may differ.
func own(dir string, x *configs.Experiment) error {
	was, err := readConfig(durable.OS{}, dir, catalog.Of(x))
	if err != nil {
		return err
	}
	if x, err = located(x); err != nil {
		return err
	}
	x.Train.Library.Digest = was.Train.Library.Digest // where it was left out
	text, err := x.YAML()
	if err != nil {
		return err
	}
	return durable.WriteFile(durable.OS{}, filepath.Join(dir, configFile), text)
}

// left lists what a run's folder holds: what is the same however the run was carried out, and the rest. Of checkpoints
// there are those that latest and best point at: a run that was stopped has others than one that was not.
func left(dir string) (equal, beside []farm.File, err error) {
	fsys := durable.OS{}
	names := []string{checkpoints.MetricsFile}
	for _, p := range []checkpoints.Pointer{checkpoints.Latest, checkpoints.Best} {
		at, err := checkpoints.Find(fsys, dir, p)
		if errors.Is(err, fs.ErrNotExist) && p == checkpoints.Best {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		names = append(names, filepath.Join(checkpoints.CheckpointsDir, string(p)))
		entries, err := os.ReadDir(at)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range entries {
			if name := filepath.Join(checkpoints.CheckpointsDir, filepath.Base(at), e.Name()); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if equal, err = readFiles(dir, names); err != nil {
		return nil, nil, err
	}
	events, err := os.ReadDir(filepath.Join(dir, eventsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	names = []string{checkpoints.RunFile, configFile}
	if _, err := os.Lstat(filepath.Join(dir, checkpoints.TimingFile)); err == nil {
		names = append(names, checkpoints.TimingFile)
	}
	for _, e := range events {
		names = append(names, filepath.Join(eventsDir, e.Name()))
	}
	beside, err = readFiles(dir, names)
	return equal, beside, err
}

func readFiles(dir string, names []string) (out []farm.File, err error) {
	for _, n := range names {
		f, err := farm.ReadFile(dir, n)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}
