package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/stoker-rl/stoker/internal/shell"
	"github.com/stoker-rl/stoker/train"
	"github.com/stoker-rl/stoker/train/sweep"
	"github.com/stoker-rl/stoker/train/track"
)

// trackFlag is --track.
func trackFlag(to *string) flag {
	return option(to, "track", "show runs to MLflow when they end, as in mlflow:http://127.0.0.1:5000")
}

// tracker opens what --track names; nil where it names nothing.
func tracker(c *call, target string) (*track.MLflow, error) {
	if target == "" {
		return nil, nil //nolint:nilnil // there is nothing to tell
	}
	return track.Open(c.ctx, target)
}

// tell tells MLflow of a run that has ended, or was stopped. What fails there is an error of the command beside that of
// the run, which is whole.
func tell(c *call, m *track.MLflow, res *train.Result, failed error) error {
	if m == nil || res == nil {
		return failed
	}
	x, err := train.ReadConfig(res.Dir, c.Catalog)
	if err == nil {
		err = m.Log(context.WithoutCancel(c.ctx), track.Run{Dir: res.Dir, Experiment: x.Name})
	}
	if err != nil {
		err = fmt.Errorf("%s is saved, but not tracked; again by stoker resume %s --track …: %w", res.Dir, shell.Quote(res.Dir), err)
	}
	return errors.Join(failed, err)
}

// tellSweep tells MLflow of all runs of a sweep that have a folder.
func tellSweep(c *call, m *track.MLflow, s *sweep.Sweep, name string) error {
	if m == nil {
		return nil
	}
	for _, a := range s.Arms {
		for _, r := range a.Runs {
			run := track.Run{Dir: s.Folder(r), Experiment: name, Tags: map[string]string{"stoker.sweep": name, "stoker.arm": a.Name}}
			for _, score := range r.Scores {
				for i, v := range score.Values {
					if v != nil {
						run.Metrics = append(run.Metrics, track.Metric{Key: "score/" + s.Plan.Study.Metrics[i], Value: *v, Step: score.Steps})
					}
				}
			}
			if err := m.Log(context.WithoutCancel(c.ctx), run); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("%s is saved, but not tracked; again by the same command: %w", s.Dir, err)
			}
		}
	}
	return nil
}
