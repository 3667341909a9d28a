package models

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/serving/tensors"
)

// Policy is what the server needs of a policy: *policy.Policy has it. Calls may come from many goroutines at once.
type Policy interface {
	Spec() *envs.Spec
	DecideFor(ctx context.Context, r policy.Request) (policy.Decision, error)
	DecideMeasured(ctx context.Context, measured []byte, r policy.Request) (policy.Decision, any, error)
	// Example is measurements that DecideMeasured takes.
	Example() (*policy.Example, error)
	// Digest is the SHA-256 of the bundle, in hexadecimal.
	Digest() string
	Bundle() *bundle.File
	// Drift counts how often features lay outside what was usual in the evaluation.
	Drift() []policy.Drift
}

// Opener opens a bundle's bytes: it verifies them, and checks the policy with the bundle's self-test.
type Opener func(data []byte) (Policy, error)

// Version is one policy under a name. It does not change.
type Version struct {
	Policy
	Name   string
	Digest string
	Layout *tensors.Layout
	Pool   *tensors.Pool

	drift drift
	using atomic.Int64
}

// Release ends a use that [Set.Acquire] began.
func (v *Version) Release() { v.using.Add(-1) }

// Using is the number of requests that use the version now.
func (v *Version) Using() int64 { return v.using.Load() }

// model is a name with its file and the version that serves.
type model struct {
	name, path, pin string
	found           bool // in the folder of models, not named by the user

	current atomic.Pointer[Version]

	mu     sync.Mutex // loads one at a time
	loaded stamp      // of the file that was tried last
	seen   stamp      // of the file at the last look
	failed error      // of the last try, nil where it passed
}

// stamp tells whether a file has changed.
type stamp struct {
	size  int64
	mtime time.Time
	inode uint64
}

// load opens the file and, where it passes, puts it in place of the version that serves. It returns the version and
// the one before; both are nil where the file is the one that serves already.
func (m *model) load(open Opener, limit int64) (now, before *Version, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	info, err := os.Stat(m.path)
	if err == nil {
		m.loaded = stampOf(info)
		now, err = m.open(open, limit)
	}
	m.failed = err
	if err != nil {
		return nil, nil, fmt.Errorf("model %q: %w", m.name, err)
	}
	before = m.current.Load()
	if before != nil && before.Digest == now.Digest {
		return nil, nil, nil
	}
	m.current.Store(now)
	return now, before, nil
}

func (m *model) open(open Opener, limit int64) (*Version, error) {
	data, err := readFile(m.path, limit)
	if err != nil {
		return nil, err
	}
	o, err := open(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.path, err)
	}
	if m.pin != "" && m.pin != o.Digest() {
		return nil, fmt.Errorf("%s: its digest is sha256:%s, want sha256:%s", m.path, o.Digest(), m.pin)
	}
	units, err := unitsOf(&o.Bundle().Environment)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.path, err)
	}
	l, err := tensors.New(o.Spec(), units)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.path, err)
	}
	return &Version{Policy: o, Name: m.name, Digest: o.Digest(), Layout: l, Pool: tensors.NewPool(l)}, nil
}

// changed looks at the file and reports whether it is another one than was tried last. It says so only where two looks
// found the same: a file may be being written.
func (m *model) changed() bool {
	info, err := os.Stat(m.path)
	if err != nil {
		return false // it serves on; files vanish for a moment when they are replaced
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.current.Load() == nil && m.failed == nil && m.loaded != (stamp{}) {
		return false // unloaded
	}
	now := stampOf(info)
	still := now == m.seen
	m.seen = now
	return still && now != m.loaded
}
