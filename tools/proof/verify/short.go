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
	"runtime"
	"sync"

	"github.com/stoker-rl/stoker/tools/proof"
)

// shortRuns runs short runs in parallel, each at most once, as many at a time as there are processors.
type shortRuns struct {
	table map[string]proof.Short
	slots chan struct{}
	mu    sync.Mutex
	done  map[string]*outcome
}

// outcome is the result of a short run, valid once ready is closed: a digest, "" where it only had to pass, or an
// error.
type outcome struct {
	ready  chan struct{}
	digest string
	err    error
}

func newShortRuns() *shortRuns {
	r := &shortRuns{
		table: map[string]proof.Short{}, slots: make(chan struct{}, runtime.GOMAXPROCS(0)), done: map[string]*outcome{},
	}
	for _, s := range proof.Shorts() {
		r.table[s.Name] = s
	}
	return r
}

// start starts those short runs that have not been started.
func (r *shortRuns) start(ctx context.Context, names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		s, known := r.table[name]
		if !known || r.done[name] != nil {
			continue
		}
		o := &outcome{ready: make(chan struct{})}
		r.done[name] = o
		go func() {
			defer close(o.ready)
			r.slots <- struct{}{}
			defer func() { <-r.slots }()
			o.digest, o.err = shortRun(ctx, s)
		}()
	}
}

// run returns the digest of a short run. It starts the run if needed and waits for it.
func (r *shortRuns) run(ctx context.Context, name string) (string, error) {
	if _, known := r.table[name]; !known {
		return "", fmt.Errorf("there is no short run %q", name)
	}
	r.start(ctx, name)
	r.mu.Lock()
	o := r.done[name]
	r.mu.Unlock()
	<-o.ready
	return o.digest, o.err
}

// shortRun runs one and digests its files. Where it fails, the error ends with its output.
func shortRun(ctx context.Context, s proof.Short) (digest string, err error) {
	f, err := newFolders(filepath.Join("out", "verify", "short", s.Name), nil)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	var log bytes.Buffer
	for _, step := range s.Steps {
		if err := f.run(ctx, step, &log); err != nil {
			return "", fmt.Errorf("short run %s: %w\n%s", s.Name, err, log.Bytes()[max(0, log.Len()-600):])
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

// measuredOf is the measurements of a file's claims, a line each, without the claims' wording.
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

// digests are the digests of a proof's short runs; nil where there are none.
func digests(ctx context.Context, p proof.Proof) (map[string]string, error) {
	runs := newShortRuns()
	runs.start(ctx, p.Short...)
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
