package checkpoints

import (
	"path/filepath"
	"slices"

	"github.com/stoker-rl/stoker/checkpoints/durable"
)

// ExportPolicy writes the part of checkpoint c that acting needs as a policy checkpoint in the new folder dest, whose
// parent must exist: the weights, the files named in also, counters and config. It leaves out optimiser, replay and
// random states.
func ExportPolicy(c *Checkpoint, fsys durable.FS, dest string, also ...string) (*Checkpoint, error) {
	h := c.Header()
	h.Kind = Policy
	h.Random = nil
	w, err := Create(fsys, filepath.Clean(dest), h)
	if err != nil {
		return nil, err
	}
	defer w.Abort() //nolint:errcheck // after Commit it does nothing; before, the first error is returned
	files := append([]string{WeightsFile}, also...)
	slices.Sort(files)
	for _, name := range slices.Compact(files) {
		b, err := c.Read(name)
		if err != nil {
			return nil, err
		}
		if err := w.Blob(name, b); err != nil {
			return nil, err
		}
	}
	return w.Commit()
}
