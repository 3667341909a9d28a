package libtorch

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// fitNote is the file in a fitted copy that says what it was fitted to.
const fitNote = "fit.json"

// Fitted is a copy of gotch that was fitted to one libtorch.
type Fitted struct {
	Format   int    `json:"format"`
	Key      string `json:"key"`
	Gotch    string `json:"gotch"` // version
	GotchSum string `json:"gotch_sum"`
	Torch    Torch  `json:"torch"`
	// Functions counts gotch's C functions in it: those that Stoker calls.
	Functions int    `json:"functions"`
	Compiler  string `json:"compiler"`
	// Threads is how many libtorch took by itself on this machine.
	Threads int `json:"threads"`
	// CUDAFault is why the CUDA half could not be opened, empty where it could
	// or where there is none.
	CUDAFault string `json:"cuda_fault,omitempty"`
	// Seconds is how long checking and compiling took.
	Seconds float64 `json:"seconds"`

	// Dir is the folder of the copy: what go.work replaces gotch by.
	Dir string `json:"-"`
}

// ErrChanged is wrapped by errors that mean: the libtorch that Stoker was
// built against is not the one that is there now.
var ErrChanged = errors.New("libtorch changed since make cuda")

// ReadFitted reads the record of a fitted copy.
func ReadFitted(dir string) (Fitted, error) {
	note := filepath.Join(dir, fitNote)
	text, err := os.ReadFile(note)
	if err != nil {
		return Fitted{}, fmt.Errorf("fitted libtorch bindings: %w; run: make cuda", err)
	}
	var r Fitted
	if err := json.Unmarshal(text, &r); err != nil {
		return Fitted{}, fmt.Errorf("%s: %w; run: make cuda", note, err)
	}
	if r.Format != fitFormat {
		return Fitted{}, fmt.Errorf("%s was written by another version of Stoker (format %d, this one writes %d); "+
			"run: make cuda",
			note, r.Format, fitFormat)
	}
	r.Dir = dir
	return r, nil
}

// Check says whether the libtorch is still the one that was fitted: the same
// bytes in the same place. Unchanged sizes and times are taken for that; else
// the files are hashed, which takes a second or two. The error wraps
// ErrChanged.
func (r Fitted) Check() error {
	if err := r.Torch.unchanged(); err != nil {
		return fmt.Errorf("%w: %w; run: make cuda", ErrChanged, err)
	}
	return nil
}

// records reads every fitted copy in the cache, the newest first, and leaves
// out what is no record.
func (o Options) records() []Fitted {
	notes, err := filepath.Glob(filepath.Join(o.fits(), "*", fitNote))
	if err != nil {
		return nil // the pattern is ours; only a malformed one errs
	}
	var all []Fitted
	for _, note := range notes {
		if r, err := ReadFitted(filepath.Dir(note)); err == nil {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b Fitted) int { return b.made().Compare(a.made()) })
	return all
}

// made is when a fitted copy was finished.
func (r Fitted) made() time.Time {
	st, err := os.Stat(filepath.Join(r.Dir, fitNote))
	if err != nil {
		return time.Time{}
	}
	return st.ModTime()
}

// recall takes a libtorch's identity from a record whose files have the same
// size and time, and saves reading a gigabyte.
func (o Options) recall(t *Torch) bool {
	for _, r := range o.records() {
		if r.Torch.Lib != t.Lib || len(r.Torch.Files) == 0 {
			continue
		}
		same := true
		for _, name := range identityFiles {
			same = same && r.Torch.knows(t.Lib, name)
		}
		if same {
			t.Files, t.Hash, t.BLAS = r.Torch.Files, r.Torch.Hash, r.Torch.BLAS
			return true
		}
	}
	return false
}

// knows says whether a recorded file is as it was, or was not there and is not.
func (t Torch) knows(lib, name string) bool {
	st, err := os.Stat(filepath.Join(lib, name))
	for _, f := range t.Files {
		if f.Name == name {
			return err == nil && st.Size() == f.Size && st.ModTime().Equal(f.Time)
		}
	}
	return os.IsNotExist(err)
}
