package farm

import (
	"encoding/json"
	"fmt"
	"strings"
)

// File is one of a result's, by content.
type File struct {
	// Name is the path in the unit's folder, with '/' between its parts.
	Name string `json:"name"`
	Hash Hash   `json:"sha256"`
	Size int64  `json:"size"`
}

// Result is what became of a unit.
type Result struct {
	Key  Key    `json:"key"`
	Name string `json:"name,omitempty"`
	// Files are the same whoever carried the unit out. Beside are the others: times, logs, what tells of the process.
	Files  []File `json:"files,omitempty"`
	Beside []File `json:"beside,omitempty"`
	// Summary is a JSON object for the coordinator.
	Summary json.RawMessage `json:"summary,omitempty"`
	Worker  string          `json:"worker"`
	// Error says why the unit failed, and is empty where it did not.
	Error string `json:"error,omitempty"`
	// AtStep says that a step of training failed, where it fails whoever trains, and Error is that of the step.
	AtStep bool `json:"at_step,omitempty"`
	// Aside says that the unit was put aside, since workers vanished under it.
	Aside bool `json:"aside,omitempty"`
	// Gone says that files that the unit needs were not there: it was carried out before, or another coordinator has it. It
	// is no result: whoever still waits submits the unit again.
	Gone bool `json:"gone,omitempty"`
	// Inexact says that the worker's revision or kernels are not the study's.
	Inexact bool `json:"inexact,omitempty"`
}

// ParseResult reads a result from elsewhere, and checks it.
func ParseResult(b []byte) (*Result, error) {
	r := &Result{}
	if err := parse(b, r); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	if err := r.Key.check(); err != nil {
		return nil, fmt.Errorf("result: key %w", err)
	}
	return r, CheckFiles(append(r.Files[:len(r.Files):len(r.Files)], r.Beside...))
}

// CheckFiles refuses files that lead out of a folder, are named twice, or are too many or too large.
func CheckFiles(list []File) error {
	if len(list) > MaxFiles {
		return fmt.Errorf("%d files, want at most %d", len(list), MaxFiles)
	}
	var all int64
	seen := map[string]bool{}
	for _, f := range list {
		if err := checkPath(f.Name); err != nil {
			return err
		}
		if err := f.Hash.check(); err != nil {
			return fmt.Errorf("%s: sha256 %w", f.Name, err)
		}
		if f.Size < 0 || f.Size > MaxBytes || all > MaxBytes-f.Size {
			return fmt.Errorf("%s: the files have more than %d bytes", f.Name, int64(MaxBytes))
		}
		all += f.Size
		if seen[strings.ToLower(f.Name)] { // some file systems know no capitals
			return fmt.Errorf("%s is there twice", f.Name)
		}
		seen[strings.ToLower(f.Name)] = true
	}
	return nil
}

// Conflict is two results of one unit that differ.
type Conflict struct{ First, Second Result }

// Error names both workers, and the first file that differs.
func (c *Conflict) Error() string {
	return fmt.Sprintf("workers %s and %s left different results of unit %s (%.12s): %s; one of the machines is broken, or the program is "+
		"not deterministic. Carry the unit out on each of them to see which", c.First.Worker, c.Second.Worker, c.First.Name,
		c.First.Key, difference(c.First, c.Second))
}

// Same compares two results of one unit. What a worker of another revision left, a unit that was put aside, and one whose
// files are gone, can't be compared.
func Same(first, second Result) error {
	if first.Inexact || second.Inexact || first.Aside || second.Aside || first.Gone || second.Gone || difference(first, second) == "" {
		return nil
	}
	return &Conflict{first, second}
}

// difference is the first thing in which results differ; empty where they are the same.
func difference(a, b Result) string {
	if (a.Error == "") != (b.Error == "") {
		return fmt.Sprintf("one failed: %s", a.Error+b.Error)
	}
	hashes := map[string]Hash{}
	for _, f := range a.Files {
		hashes[f.Name] = f.Hash
	}
	for _, f := range b.Files {
		if h, ok := hashes[f.Name]; !ok || h != f.Hash {
			return fmt.Sprintf("%s has SHA-256 %.12s… and %.12s…", f.Name, orNone(h), f.Hash)
		}
		delete(hashes, f.Name)
	}
	for name, h := range hashes {
		return fmt.Sprintf("%s has SHA-256 %.12s… and none", name, h)
	}
	return ""
}

func orNone(h Hash) Hash {
	if h == "" {
		return "none"
	}
	return h
}
