package libtorch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
)

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
