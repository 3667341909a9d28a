package checkpoints

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/safetensors"
)

// Status is the outcome of one check.
type Status string

// The outcomes.
const (
	Good    Status = "ok"
	Notice  Status = "note" // information, not a fault
	Problem Status = "problem"
)

// Finding is the result of checking one thing.
type Finding struct {
	Status Status `json:"status"`
	What   string `json:"what"`
	Detail string `json:"detail"`
}

// Report lists what [Check] verified.
type Report struct {
	Path     string    `json:"path"`
	Kind     string    `json:"kind"` // "checkpoint", "policy", "run" or "safetensors"
	OK       bool      `json:"ok"`
	Findings []Finding `json:"findings"`
}

func (r *Report) add(s Status, what, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{s, what, fmt.Sprintf(format, args...)})
	r.OK = r.OK && s != Problem
}

func (r *Report) problems() (n int) {
	for _, f := range r.Findings {
		if f.Status == Problem {
			n++
		}
	}
	return n
}

// String returns the report as text: a line per finding, then the verdict.
func (r *Report) String() string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%-8s %s: %s\n", f.Status, f.What, f.Detail)
	}
	if r.OK {
		fmt.Fprintf(&b, "%s (%s): sound", r.Path, r.Kind)
	} else {
		fmt.Fprintf(&b, "%s (%s): %d problem(s)", r.Path, r.Kind, r.problems())
	}
	return b.String()
}

// Check verifies a checkpoint folder, a run folder or a single .safetensors file, without changing anything. The report
// lists the problems, and the error gives their number. For any other path the report is nil.
func Check(path string) (*Report, error) { return CheckFS(durable.OS{}, path) }

// CheckFS is [Check] on another file system.
func CheckFS(fsys durable.FS, path string) (*Report, error) {
	r := &Report{Path: path, OK: true}
	info, err := fsys.Lstat(path)
	if err != nil {
		return nil, err
	}
	switch {
	case info.Mode().IsRegular() && strings.HasSuffix(path, ".safetensors"):
		r.Kind = "safetensors"
		r.tensorFile(fsys, path)
	case exists(fsys, filepath.Join(path, SumsFile)) || exists(fsys, filepath.Join(path, ManifestFile)):
		r.checkpoint(fsys, path)
	case exists(fsys, filepath.Join(path, RunFile)) || exists(fsys, filepath.Join(path, CheckpointsDir)):
		r.Kind = "run"
		r.run(fsys, path)
	default:
		return nil, fmt.Errorf("%s: cannot be checked: want a checkpoint (with %s), a run folder (with %s), "+
			"a bundle (.stoker) or a .safetensors file", path, SumsFile, RunFile)
	}
	return r, r.err()
}

// err gives the number of problems, nil where there are none.
func (r *Report) err() error {
	if n := r.problems(); n > 0 {
		return fmt.Errorf("%s (%s): %d problem(s)", r.Path, r.Kind, n)
	}
	return nil
}

// Refuse adds a problem, and returns the error of the report.
func (r *Report) Refuse(what string, why error) error {
	r.add(Problem, what, "%v", why)
	return r.err()
}

func (r *Report) checkpoint(fsys durable.FS, dir string) {
	r.Kind = "checkpoint"
	c := r.open(fsys, dir, "")
	if c == nil {
		return
	}
	if c.m.Kind == Policy {
		r.Kind = "policy"
	}
	r.add(Good, ManifestFile, "%s, version %d, made by %s, kernels %s, %s", c.m.Kind, c.m.Version, orNone(c.m.CreatedBy),
		orNone(c.m.Kernels), counters(c.m.Counters))
}

func orNone(s string) string {
	if s == "" {
		return "(not said)"
	}
	return s
}

func counters(m map[string]int64) string {
	if len(m) == 0 {
		return "no counters"
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(parts, ", ")
}

// open verifies a checkpoint, its tensor files and its replay. prefix names the checkpoint in the report.
func (r *Report) open(fsys durable.FS, dir, prefix string) *Checkpoint {
	c, err := OpenFS(fsys, dir)
	if err != nil {
		what, fault := prefix, err
		var refused *RefusedError
		if errors.As(err, &refused) {
			what, fault = join(prefix, refused.File), refused.Err
		}
		r.add(Problem, orDot(what), "%v", fault)
		return nil
	}
	size := int64(0)
	for _, name := range slices.Sorted(maps.Keys(c.m.Files)) {
		size += c.m.Files[name].Bytes
		if !strings.HasSuffix(name, ".safetensors") {
			continue
		}
		f, err := c.Tensors(name)
		if err != nil {
			r.add(Problem, join(prefix, name), "%v", err)
			continue
		}
		r.add(Good, join(prefix, name), "%s", describe(f))
	}
	for _, name := range slices.Sorted(maps.Keys(c.m.Replay)) {
		info := c.m.Replay[name]
		next := info.First()
		err := c.ReplayRows(name, func(i int64, _ []byte) error {
			next = i + 1
			return nil
		})
		if err != nil {
			r.add(Problem, join(prefix, "replay "+name), "%v", err)
			continue
		}
		r.add(Good, join(prefix, "replay "+name), "%d rows of %d bytes, numbers %d to %d", info.Rows(), info.RowBytes,
			info.First(), next-1)
	}
	r.add(Good, orDot(prefix), "%d file(s), %d bytes, every hash agrees", len(c.m.Files), size)
	return c
}

func join(prefix, name string) string {
	if prefix == "" || name == "" {
		return prefix + name
	}
	return prefix + "/" + name
}

func orDot(what string) string {
	if what == "" {
		return "checkpoint"
	}
	return what
}

func describe(f *safetensors.File) string {
	n := 0
	for _, t := range f.Tensors() {
		n += t.Len()
	}
	return fmt.Sprintf("%d tensors, %d numbers", len(f.Names()), n)
}

func (r *Report) tensorFile(fsys durable.FS, path string) {
	what := filepath.Base(path)
	b, err := durable.ReadFile(fsys, path, maxTensorFile)
	if err == nil {
		var f *safetensors.File
		if f, err = safetensors.Parse(b); err == nil {
			r.add(Good, what, "%s", describe(f))
			return
		}
	}
	r.add(Problem, what, "%v", err)
}

// maxTensorFile bounds the size of a single tensor file, which no manifest records.
const maxTensorFile = 64 << 30

// missing reports whether err says that a file is not there.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
