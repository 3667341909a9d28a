package models

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/serving/internal/tensors"
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

// readFile reads a regular file of at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes, want at most %d", path, info.Size(), limit)
	}
	data := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead)) // grows no more unless the file does
	_, err = data.ReadFrom(io.LimitReader(f, limit+1))
	if err == nil && int64(data.Len()) > limit {
		err = fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return data.Bytes(), err
}

func stampOf(info os.FileInfo) stamp {
	return stamp{size: info.Size(), mtime: info.ModTime(), inode: inode(info)}
}

// unitsOf returns what turns the actions of an environment into its platform's units; nil where they are in these.
func unitsOf(e *bundle.Environment) (tensors.Units, error) {
	if e.ID != sizing.ID && e.ID != sizing.CountedID {
		return nil, nil //nolint:nilnil // there is nothing to convert, and nothing is wrong
	}
	o, err := sizing.OpenObserver(e.ID, e.Config, e.Workload)
	if err != nil {
		return nil, fmt.Errorf("stoker.environment: %w", err)
	}
	u := &settings{observer: o}
	u.free.New = func() any {
		s := make([]sizing.Settings, o.Spec().Kinds[0].Agents)
		return &s
	}
	return u, nil
}

// settings are the units of a sizing platform: cores, MB, replicas, concurrency.
type settings struct {
	observer *sizing.Observer
	free     sync.Pool // of *[]sizing.Settings
}

func (u *settings) Columns(int) int { return 4 }

func (u *settings) Decode(_ int, act *envs.Action, to []float32) error {
	all := u.free.Get().(*[]sizing.Settings)
	defer u.free.Put(all)
	if err := u.observer.Settings(act, *all); err != nil {
		return err
	}
	for i, s := range *all {
		to[4*i], to[4*i+1] = float32(s.Cores), float32(s.MB)
		to[4*i+2], to[4*i+3] = float32(s.Replicas), float32(s.Concurrency)
	}
	return nil
}

// driftWindow is the least time that a share covers; it covers at most twice as much where it is asked for often.
const driftWindow = 5 * time.Minute

// drift tells how often features lay lately outside the range in which 99.8 % of them lay in the evaluation. A share
// far above 0.002 says that the platform is not the one for which the policy was evaluated.
type drift struct {
	mu           sync.Mutex
	older, newer []policy.Drift // counts at the ends of the windows before
	turned       time.Time
}

// Drift calls f with each feature's share of rows of the last 5 to 10 minutes in which it lay outside; features of
// which none was seen are left out.
func (v *Version) Drift(now time.Time, f func(feature string, share float64)) {
	d := &v.drift
	d.mu.Lock()
	defer d.mu.Unlock()
	counts := v.Policy.Drift()
	if d.turned.IsZero() {
		d.turned = now
	}
	if now.Sub(d.turned) >= driftWindow {
		d.older, d.newer, d.turned = d.newer, counts, now
	}
	for i, c := range counts {
		if d.older != nil {
			c.Outside -= d.older[i].Outside
			c.Rows -= d.older[i].Rows
		}
		if c.Rows > 0 {
			f(feature(v, c), float64(c.Outside)/float64(c.Rows))
		}
	}
}

// feature is a name that no other feature of the policy has.
func feature(v *Version, c policy.Drift) string {
	parts := []string{c.Part, c.Name}
	if len(v.Spec().Kinds) > 1 {
		parts = append([]string{c.Kind}, parts...)
	}
	return strings.TrimPrefix(strings.Join(parts, "."), ".")
}
