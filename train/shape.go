package train

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/configs"
)

// shapeOf returns the part of a configuration that shapes results, as JSON: what only says how it is carried out is
// left out, so that any number of workers, and data that lie anywhere, leave the same checkpoint. Of the paths of traces
// and of an environment's files the last part stays.
func shapeOf(x *configs.Experiment) (json.RawMessage, error) {
	y := *x
	y.Engine.Workers, y.Engine.Device = 0, configs.Default().Engine.Device
	if y.Engine.Name == "native" {
		y.Engine.Threads, y.Engine.Deterministic = 0, false
	}
	z, err := eachPath(&y, base)
	if err != nil {
		return nil, err
	}
	text, err := z.YAML()
	if err != nil {
		return nil, err
	}
	var v any
	if err := yaml.Load(text, &v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// base is what the manifest has of a path.
func base(path string) (string, error) { return filepath.Base(path), nil }

// located returns the experiment with the path of its data made absolute: a run may be resumed, and evaluated, from
// another folder than it was started in.
func located(x *configs.Experiment) (*configs.Experiment, error) { return eachPath(x, filepath.Abs) }

// In returns the experiment whose relative paths of data begin in a folder.
func In(x *configs.Experiment, folder string) (*configs.Experiment, error) {
	return eachPath(x, func(path string) (string, error) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(folder, path)
		}
		return path, nil
	})
}

// eachPath returns the experiment with what f makes of the path of each of its data: a trace, files of the environment, a
// library.
func eachPath(x *configs.Experiment, f func(path string) (string, error)) (*configs.Experiment, error) {
	y := *x
	var err error
	if y.Workload, err = y.Workload.EachPath(f); err != nil {
		return nil, fmt.Errorf("workload.path: %w", err)
	}
	if y.Env.Config, err = files(y.Env.Config, f); err != nil {
		return nil, fmt.Errorf("env: %w", err)
	}
	if p := y.Train.Library.Path; p != "" {
		if y.Train.Library.Path, err = f(p); err != nil {
			return nil, fmt.Errorf("train.library.path: %w", err)
		}
	}
	return &y, nil
}

// files returns an environment's configuration with every path of its files replaced by what f makes of it. One without
// a method Files has none.
func files(config any, f func(path string) (string, error)) (any, error) {
	if c, ok := config.(interface {
		Files(f func(path string) (string, error)) (any, error)
	}); ok {
		return c.Files(f)
	}
	return config, nil
}

// sameShape refuses to go on from a checkpoint under another configuration, as an edited or damaged config.yaml would
// have it. Keys that the checkpoint doesn't have are younger than it and have their defaults there. The number of steps
// may be another where run.json says so too: a resume that was to go on to a new total, and was killed before it had
// saved.
func (r *run) sameShape(x *configs.Experiment, c *checkpoints.Checkpoint) error {
	old, err := experiment(c, nil, catalog.Of(x))
	if err != nil {
		return err
	}
	if now := x.Train.Steps; now == r.opts.Steps || now == r.planned {
		old.Train.Steps = now
	}
	text, err := shapeOf(old)
	if err != nil {
		return err
	}
	was, err := decode(text)
	if err != nil {
		return err
	}
	now, err := decode(r.shape)
	if err != nil {
		return err
	}
	for key, d := range differences("", was, now) {
		if key == "train.steps" {
			return Usage("%s was made with train.steps: %v, the run's %s now says %v; restore it, and give a new total with: "+
				"stoker resume --steps", c.Dir(), d.was, configFile, d.now)
		}
		return Usage("%s was made with %s: %v, the run's %s now says %v; restore it, or start a new run (train --init-from)",
			c.Dir(), key, d.was, configFile, d.now)
	}
	return nil
}

// decode reads JSON with its numbers as they stand there: seeds have 64 bits.
func decode(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return v, d.Decode(&v)
}

// change is a value before and after.
type change struct{ was, now any }

// differences are the keys under which a and b are not alike, in their order.
func differences(path string, a, b any) iter.Seq2[string, change] {
	return func(yield func(string, change) bool) {
		x, ok := a.(map[string]any)
		y, both := b.(map[string]any)
		if !ok || !both {
			if !reflect.DeepEqual(a, b) {
				yield(path, change{a, b})
			}
			return
		}
		all := maps.Clone(x)
		maps.Copy(all, y)
		for _, k := range slices.Sorted(maps.Keys(all)) {
			at := k
			if path != "" {
				at = path + "." + k
			}
			for key, d := range differences(at, x[k], y[k]) {
				if !yield(key, d) {
					return
				}
			}
		}
	}
}

// Same checks that the run in dir was trained as x says: its environment, workload, wrappers, learner, training and seed.
// How it is evaluated may differ. The error names the first key that differs, with both values.
func Same(dir string, x *configs.Experiment) error {
	old, err := ReadConfig(dir, catalog.Of(x))
	if err != nil {
		return err
	}
	parts := [2]any{}
	for i, y := range []*configs.Experiment{old, x} {
		if y, err = located(y); err != nil {
			return err
		}
		text, err := shapeOf(y)
		if err != nil {
			return err
		}
		if parts[i], err = decode(text); err != nil {
			return err
		}
		if m, ok := parts[i].(map[string]any); ok {
			delete(m, "eval")
			delete(m, "name")
		}
	}
	for key, d := range differences("", parts[0], parts[1]) {
		return Usage("%s was trained with %s: %v, want %v", dir, key, d.was, d.now)
	}
	return nil
}
