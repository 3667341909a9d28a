package libtorch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
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

// A State says how far libtorch is set up.
type State string

// The states of libtorch on a machine.
const (
	Absent  State = "absent"  // there is none
	Present State = "found"   // there is one, make cuda would use it
	Ready   State = "fitted"  // set up and unchanged
	Changed State = "changed" // set up, but the libtorch is gone or another
)

// A Report is what `stoker version` says about libtorch.
type Report struct {
	State State `json:"state"`
	// Torch and Fitted are nil where there is none. Fitted.Torch is Torch.
	Torch  *Torch  `json:"torch,omitempty"`
	Fitted *Fitted `json:"-"`
	// Gotch is the version of the bindings.
	Gotch   string `json:"gotch"`
	Threads int    `json:"threads,omitempty"`
	Binary  string `json:"binary,omitempty"`
	// Reason says why the state is not Ready, Next the command that helps.
	Reason string `json:"reason,omitempty"`
	Next   string `json:"next,omitempty"`
}

// Status looks, in this order, at the libtorch that the running program is
// linked with, at stoker-torch beside it, at the fitted copy that the
// checkout's go.work names, at the newest in the cache, and for a libtorch that
// could be fitted. It changes nothing.
func Status(ctx context.Context, o Options) Report {
	rep := Report{State: Absent, Gotch: GotchVersion, Next: "make cuda"}
	o, err := o.filled()
	if err != nil {
		rep.Reason = err.Error()
		return rep
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		if r, err := fittedIn(info); err == nil {
			return rep.of(r)
		} else if !errors.Is(err, ErrNoBinary) {
			rep.State, rep.Reason = Changed, err.Error()
			return rep
		}
	}
	binary, err := FindBinary()
	if err == nil {
		rep.Binary = binary
		r, err := FittedOf(binary)
		if err != nil {
			rep.State, rep.Reason = Changed, err.Error()
			return rep
		}
		return rep.of(r)
	}
	if r, ok := o.current(); ok {
		rep = rep.of(r)
		if rep.State == Ready {
			rep.Reason, rep.Next = err.Error(), "make cuda"
		}
		return rep
	}
	found, err := Find(ctx, o)
	if err != nil {
		rep.Reason = err.Error()
		return rep
	}
	rep.State, rep.Torch, rep.Reason = Present, &found.Torch, "found, not set up yet"
	return rep
}

// Report is what there is to say about one fitted copy.
func (r Fitted) Report() Report { return Report{}.of(r) }

// of fills the report in from a fitted copy.
func (rep Report) of(r Fitted) Report {
	rep.State, rep.Fitted, rep.Torch = Ready, &r, &r.Torch
	rep.Gotch, rep.Threads = r.Gotch, r.Threads
	rep.Next = ""
	if err := r.Check(); err != nil {
		rep.State, rep.Reason, rep.Next = Changed, err.Error(), "make cuda"
	}
	return rep
}

// Lines is the report for a terminal.
func (rep Report) Lines() []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if t := rep.Torch; t == nil {
		add("libtorch: %s", rep.State)
	} else {
		cuda := "no CUDA"
		if t.CUDA != "" {
			cuda = "CUDA " + t.CUDA
			if len(t.CUDALacks) > 0 {
				cuda += fmt.Sprintf(" (%d of its libraries are not here)", len(t.CUDALacks))
			}
		}
		abi := "old C++ ABI"
		if t.NewABI {
			abi = "C++11 ABI"
		}
		add("libtorch: %s, torch %s, %s, %s, %s", rep.State, t.Version(), abi, t.Std, cuda)
		add("  in %s", t.Root)
		if t.BLAS != "" {
			add("  BLAS %s, %d threads by default", t.BLAS, rep.Threads)
		}
	}
	if rep.Fitted != nil {
		add("  gotch %s, the %d functions that Stoker calls", rep.Gotch, rep.Fitted.Functions)
	}
	if rep.Reason != "" {
		add("  %s", rep.Reason)
	}
	if rep.Next != "" && !strings.Contains(rep.Reason, rep.Next) {
		add("  run: %s", rep.Next)
	}
	return lines
}
