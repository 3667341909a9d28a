package train

import (
	"fmt"
	"path/filepath"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
)

// Standing is how far a run has come, as its run.json says.
type Standing struct {
	// Status is "running", "finished", or "stopped: " and why. A run that was killed is still said to be running.
	Status string
	// Steps were done when the status was written, of those Planned.
	Steps, Planned int64
}

// Finished reports whether all planned steps are done and saved.
func (s Standing) Finished() bool { return s.Status == statusFinished && s.Steps >= s.Planned }

// ReadStanding reads how far the run in a folder has come. A missing run.json is an error that is fs.ErrNotExist.
func ReadStanding(dir string) (Standing, error) {
	path := filepath.Join(dir, checkpoints.RunFile)
	b, err := durable.ReadFile(durable.OS{}, path, maxConfig)
	if err != nil {
		return Standing{}, err
	}
	var d description
	if err := d.decode(b); err != nil {
		return Standing{}, fmt.Errorf("%s: %w", path, err)
	}
	return Standing{d.Status, d.Steps, d.Planned}, nil
}
