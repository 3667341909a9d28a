package checkpoints

import (
	"path/filepath"
	"slices"

	"github.com/stoker-rl/stoker/checkpoints/durable"
)

// ExportPolicy writes what acting needs of checkpoint c as a policy checkpoint in the new folder dest, whose parent
// must exist: the weights, and the files named in also. Counters and config come along; optimiser, replay and
// random states stay behind.
func ExportPolicy(c *Checkpoint, fsys durable.FS, dest string, also ...string) (*Checkpoint, error) {
	h := c.Header()
	h.Kind = Policy
	h.Random = nil
	w, err := Create(fsys, filepath.Clean(dest), h)
	if err != nil {
		return nil, err
	}
	defer w.Abort() //nolint:errcheck // after Commit it does nothing; before, the error that led here is the one to report
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
