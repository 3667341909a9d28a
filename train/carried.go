package train

import (
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
)

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
