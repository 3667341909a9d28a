package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/stoker-rl/stoker/internal/proof"
)

// shortRuns runs short runs, each at most once.
type shortRuns struct {
	table map[string]proof.Short
	done  map[string]outcome
}

// outcome is what a short run gave: a digest, "" where it only had to pass, or an error.
type outcome struct {
	digest string
	err    error
}

func newShortRuns() *shortRuns {
	r := &shortRuns{map[string]proof.Short{}, map[string]outcome{}}
	for _, s := range proof.Shorts() {
		r.table[s.Name] = s
	}
	return r
}

// run runs a short run, or says what it gave before.
func (r *shortRuns) run(ctx context.Context, name string) (string, error) {
	o, ok := r.done[name]
	if !ok {
		s, known := r.table[name]
		if !known {
			return "", fmt.Errorf("there is no short run %q", name)
		}
		o.digest, o.err = shortRun(ctx, s)
		r.done[name] = o
	}
	return o.digest, o.err
}

// shortRun runs one and digests what it leaves. Where it fails, the error ends with what it printed.
func shortRun(ctx context.Context, s proof.Short) (digest string, err error) {
	f, err := newFolders(filepath.Join("out", "verify", "short", s.Name), nil)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	var log bytes.Buffer
	for _, step := range s.Steps {
		if err := f.run(ctx, step, &log); err != nil {
			return "", fmt.Errorf("short run %s: %w\n%s", s.Name, err, log.Bytes()[max(0, log.Len()-2000):])
		}
	}
	if len(s.Files) == 0 {
		return "", nil
	}
	return digestOf(f.out, s.Files)
}

// digestOf is the SHA-256 of the names and bytes of a folder's files that match patterns, as 16 hexadecimal digits. A
// claim's command is left out, since it names the package, which may move.
func digestOf(dir string, patterns []string) (string, error) {
	names, err := matching(dir, patterns)
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return "", fmt.Errorf("%s holds none of %q", dir, patterns)
	}
	h := sha256.New()
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		if name == proof.ClaimsFile {
			if b, err = measuredOf(filepath.Join(dir, name)); err != nil {
				return "", err
			}
		}
		fmt.Fprintf(h, "%s %d\n", name, len(b))
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// measuredOf is what the claims of a file measured, a line each, whatever their wording.
func measuredOf(path string) ([]byte, error) {
	rows, err := proof.ReadClaims(path)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, r := range rows {
		fmt.Fprintf(&b, "%s %v\n", r.Measured, r.Holds)
	}
	return b.Bytes(), nil
}

// digests are those of a proof's short runs; nil where it has none.
func digests(ctx context.Context, p proof.Proof) (map[string]string, error) {
	runs := newShortRuns()
	var all map[string]string
	for _, name := range p.Short {
		d, err := runs.run(ctx, name)
		if err != nil {
			return nil, err
		}
		if d == "" {
			continue
		}
		if all == nil {
			all = map[string]string{}
		}
		all[name] = d
	}
	return all, nil
}

// versionInfo is a part of stoker version --json.
type versionInfo struct {
	Arch    string `json:"arch"`
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	Engines []struct {
		Kernels string `json:"kernels"`
	} `json:"engines"`
}

func version(ctx context.Context) (v versionInfo, err error) {
	c := exec.CommandContext(ctx, "bin/stoker", "version", "--json")
	c.Stderr = io.Discard
	b, err := c.Output()
	if err != nil {
		return v, fmt.Errorf("bin/stoker version --json: %w", err)
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return v, fmt.Errorf("bin/stoker version --json: %w", err)
	}
	if len(v.Engines) == 0 {
		return v, errors.New("bin/stoker version --json lists no engine")
	}
	return v, nil
}
