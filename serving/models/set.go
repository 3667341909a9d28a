// Package models keeps the policies that a server serves: each is a bundle's file, opened and tested before anybody
// sees it, under a name, and known by the digest of its bytes. A file that changes is opened beside the policy that
// serves; only one that passes takes its place.
package models

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Extension is the end of the names of files that a folder of models is searched for.
const Extension = ".stoker"

// Spec names a bundle to serve.
type Spec struct {
	// Name of the model, Path of its file.
	Name, Path string
	// Digest is what the file's SHA-256 must be, in hexadecimal; "" allows any.
	Digest string
}

var (
	validName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	validDigest = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// ParseSpec reads [NAME=]BUNDLE[@sha256:HEX]. Without a name the file's name without its extension is taken.
func ParseSpec(text string) (Spec, error) {
	var s Spec
	s.Path = text
	if name, path, ok := strings.Cut(text, "="); ok && !strings.ContainsRune(name, os.PathSeparator) {
		s.Name, s.Path = name, path
	}
	if path, digest, ok := strings.Cut(s.Path, "@sha256:"); ok {
		s.Path, s.Digest = path, digest
		if !validDigest.MatchString(digest) {
			return s, fmt.Errorf("%s: the digest is %q, want 64 hexadecimal digits", text, digest)
		}
	}
	if s.Path == "" {
		return s, fmt.Errorf("%s: no file is named, want [NAME=]BUNDLE[@sha256:HEX]", text)
	}
	if s.Name == "" {
		s.Name = strings.TrimSuffix(filepath.Base(s.Path), Extension)
	}
	if !validName.MatchString(s.Name) {
		return s, fmt.Errorf("%s: the model's name is %q, want letters, digits, points, - and _: give one as NAME=%s", text,
			s.Name, s.Path)
	}
	return s, nil
}

// Event tells what became of a load.
type Event struct {
	Model string
	// Now is the version that serves from now on, Before the one that it replaces. Now is nil where Err is not, and where
	// the model was unloaded.
	Now, Before *Version
	Err         error
}

// Options configure a set.
type Options struct {
	Open Opener
	// Folder is searched for bundles too; "" is none.
	Folder string
	// MaxBytes bounds a file.
	MaxBytes int64
	// Tell is called for every load that changed something or failed.
	Tell func(Event)
}

// Set is the models that are served. It serves any number of goroutines.
type Set struct {
	options Options
	mu      sync.Mutex // of changes
	refused []string   // files of the folder whose names are no model's
	models  atomic.Pointer[map[string]*model]
}

// NewSet loads models. All must pass.
func NewSet(specs []Spec, o Options) (*Set, error) {
	s := &Set{options: o}
	all := map[string]*model{}
	for _, spec := range specs {
		if old := all[spec.Name]; old != nil {
			return nil, fmt.Errorf("two models are called %q: %s and %s: give one another name, as in NAME=%s", spec.Name, old.path,
				spec.Path, spec.Path)
		}
		all[spec.Name] = &model{name: spec.Name, path: spec.Path, pin: spec.Digest}
	}
	s.models.Store(&all)
	if err := s.find(); err != nil {
		return nil, err
	}
	var errs []error
	for _, m := range s.sorted() {
		errs = append(errs, s.load(m))
	}
	return s, errors.Join(errs...)
}

func (s *Set) sorted() []*model {
	all := *s.models.Load()
	var out []*model
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[name])
	}
	return out
}

// find adds the bundles of the folder that are not known yet.
func (s *Set) find() error {
	if s.options.Folder == "" {
		return nil
	}
	entries, err := os.ReadDir(s.options.Folder)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := maps.Clone(*s.models.Load())
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), Extension)
		switch {
		case !ok || strings.HasPrefix(name, ".") || all[name] != nil || slices.Contains(s.refused, e.Name()):
		case validName.MatchString(name):
			all[name] = &model{name: name, path: filepath.Join(s.options.Folder, e.Name()), found: true}
		default:
			s.refused = append(s.refused, e.Name())
			if s.options.Tell != nil {
				s.options.Tell(Event{Err: fmt.Errorf("%s is not served: its name is no model's, want letters, digits, points, - and _, at "+
					"most 128, a letter or digit first", filepath.Join(s.options.Folder, e.Name()))})
			}
		}
	}
	s.models.Store(&all)
	return nil
}

func (s *Set) load(m *model) error {
	now, before, err := m.load(s.options.Open, s.options.MaxBytes)
	if s.options.Tell != nil && (now != nil || err != nil) {
		s.options.Tell(Event{Model: m.name, Now: now, Before: before, Err: err})
	}
	return err
}

// Poll loads files that have changed, and new ones of the folder. What became of them is told.
func (s *Set) Poll() {
	if err := s.find(); err != nil && s.options.Tell != nil {
		s.options.Tell(Event{Err: err})
	}
	for _, m := range s.sorted() {
		if m.changed() {
			_ = s.load(m) // told
		}
	}
}

// Reload loads all files again, and drops models whose file has left the folder.
func (s *Set) Reload() error {
	err := s.find()
	for _, m := range s.sorted() {
		if _, gone := os.Stat(m.path); m.found && errors.Is(gone, os.ErrNotExist) {
			s.drop(m.name)
			continue
		}
		err = errors.Join(err, s.load(m))
	}
	return err
}

// Load loads a model's file, which must be known, or lie in the folder.
func (s *Set) Load(name string) error {
	if err := s.find(); err != nil {
		return err
	}
	m := (*s.models.Load())[name]
	if m == nil {
		return &Unknown{Name: name, Known: s.Names()}
	}
	return s.load(m)
}

// Unload stops serving a model. Its file is still known, so that [Set.Load] brings it back.
func (s *Set) Unload(name string) error {
	m := (*s.models.Load())[name]
	if m == nil {
		return &Unknown{Name: name, Known: s.Names()}
	}
	m.mu.Lock()
	before := m.current.Swap(nil)
	m.failed = nil // of a file that was refused: Poll would load the next one
	m.mu.Unlock()
	if before != nil && s.options.Tell != nil {
		s.options.Tell(Event{Model: name, Before: before})
	}
	return nil
}

func (s *Set) drop(name string) {
	_ = s.Unload(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	all := maps.Clone(*s.models.Load())
	delete(all, name)
	s.models.Store(&all)
}

// Unknown is the error of a name or a version that is not served.
type Unknown struct {
	Name, Version string
	Known         []string
}

func (e *Unknown) Error() string {
	if e.Version != "" {
		return fmt.Sprintf("model %q has no version %q, it serves %s", e.Name, e.Version, strings.Join(e.Known, ", "))
	}
	if len(e.Known) == 0 {
		return fmt.Sprintf("no model is called %q: none is loaded", e.Name)
	}
	return fmt.Sprintf("no model is called %q, the models are %s", e.Name, strings.Join(e.Known, ", "))
}

// Acquire returns the version of a model that serves; version is its digest, or "" for any. It is to be released.
func (s *Set) Acquire(name, version string) (*Version, error) {
	m := (*s.models.Load())[name]
	if m == nil {
		return nil, &Unknown{Name: name, Known: s.Names()}
	}
	v := m.current.Load()
	if v == nil {
		return nil, &Unknown{Name: name, Known: s.Names()}
	}
	if version != "" && version != v.Digest {
		return nil, &Unknown{Name: name, Version: version, Known: []string{v.Digest}}
	}
	v.using.Add(1)
	return v, nil
}

// Names lists the models that serve.
func (s *Set) Names() []string {
	var out []string
	for _, m := range s.sorted() {
		if m.current.Load() != nil {
			out = append(out, m.name)
		}
	}
	return out
}

// State is a line of the index of models.
type State struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	State   string `json:"state"` // READY or UNAVAILABLE
	Reason  string `json:"reason"`
}

// Index lists all models, with the reason why a file was refused.
func (s *Set) Index() []State {
	out := []State{}
	for _, m := range s.sorted() {
		m.mu.Lock()
		line := State{Name: m.name, State: "UNAVAILABLE", Reason: "unloaded"}
		if v := m.current.Load(); v != nil {
			line.Version, line.State, line.Reason = v.Digest, "READY", ""
		}
		if m.failed != nil {
			line.Reason = m.failed.Error()
		}
		m.mu.Unlock()
		out = append(out, line)
	}
	return out
}
