package farm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Kind is what a unit computes.
type Kind string

// Kinds of units.
const (
	Train    Kind = "train"    // a run folder
	Evaluate Kind = "evaluate" // episodes of a policy
	Rollout  Kind = "rollout"  // a part of a round of training: whole episodes of some of a run's environments
)

// Bounds of what is read from elsewhere.
const (
	maxUnit = 512 << 10 // bytes of a unit's JSON; a NATS message holds 1 MiB
	// MaxFiles is the most files of a unit's result or inputs, MaxBytes the most bytes of them together.
	MaxFiles = 2_000
	MaxBytes = 1 << 30
)

// Hash is a SHA-256 in hexadecimal.
type Hash string

// HashOf returns the hash of b.
func HashOf(b []byte) Hash {
	sum := sha256.Sum256(b)
	return Hash(hex.EncodeToString(sum[:]))
}

// check reports what is no hash in lower case.
func (h Hash) check() error {
	b, err := hex.DecodeString(string(h))
	if err != nil || len(b) != sha256.Size || strings.ToLower(string(h)) != string(h) {
		return fmt.Errorf("is %.80q, want 64 hexadecimal digits in lower case", string(h))
	}
	return nil
}

// Key names a unit by all that shapes its results.
type Key = Hash

// Unit is one piece of work, as a value: data alone, without commands and paths.
type Unit struct {
	// Name is for people, and names the unit's folder; it is no part of the key.
	Name string `json:"name,omitempty"`
	Kind Kind   `json:"kind"`
	// Config is the configuration that shapes results, a JSON object. Of its paths only the last part is there.
	Config json.RawMessage `json:"config"`
	Seed   uint64          `json:"seed"`
	// Inputs are the files that the configuration names, by what the configuration calls them: FILE or FOLDER/FILE.
	Inputs map[string]Hash `json:"inputs,omitempty"`
	// Until, where positive, is the environment step at which the unit ends; 0 is the configuration's total.
	Until int64 `json:"until,omitempty"`
	// Revision is that of the program, Kernels the family of its inner loops.
	Revision string `json:"revision"`
	Kernels  string `json:"kernels"`
}

// ParseUnit reads a unit from elsewhere, and checks it.
func ParseUnit(b []byte) (*Unit, error) {
	u := &Unit{}
	if err := parse(b, u); err != nil {
		return nil, fmt.Errorf("unit: %w", err)
	}
	return u, u.Check()
}

// parse reads one JSON value of known keys.
func parse(b []byte, into any) error {
	if len(b) > maxUnit {
		return fmt.Errorf("has %d bytes, want at most %d", len(b), maxUnit)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("has more than one JSON value")
	}
	return nil
}

// Check reports what is wrong with a unit, naming its key.
func (u *Unit) Check() error {
	bad := func(key, format string, args ...any) error {
		return fmt.Errorf("unit %.60q: %s: %w", u.Name, key, fmt.Errorf(format, args...))
	}
	switch {
	case !slices.Contains([]Kind{Train, Evaluate, Rollout}, u.Kind):
		return bad("kind", "is %.40q, want %s, %s or %s", string(u.Kind), Train, Evaluate, Rollout)
	case u.Name != "" && (len(u.Name) > 100 || !filepath.IsLocal(u.Name) || filepath.Base(u.Name) != u.Name || u.Name[0] == '.'):
		return bad("name", "is no name of a folder")
	case u.Until < 0:
		return bad("until", "is %d, want at least 0", u.Until)
	case len(u.Inputs) > MaxFiles:
		return bad("inputs", "are %d files, want at most %d", len(u.Inputs), MaxFiles)
	case len(u.Revision) > 200 || len(u.Kernels) > 200:
		return bad("revision, kernels", "have more than 200 bytes")
	}
	for _, name := range slices.Sorted(maps.Keys(u.Inputs)) {
		if err := checkPath(name); err != nil {
			return bad("inputs", "%w", err)
		}
		if err := u.Inputs[name].check(); err != nil {
			return bad("inputs", "%s %w", name, err)
		}
	}
	var config map[string]any
	if err := json.Unmarshal(u.Config, &config); err != nil || config == nil {
		return bad("config", "is no JSON object")
	}
	return nil
}

// checkPath refuses a name that leads out of a folder.
func checkPath(name string) error {
	if name == "" || len(name) > 500 || !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, "\\:\x00") ||
		filepath.ToSlash(filepath.Clean(name)) != name || name == "." {
		return fmt.Errorf("file name %.80q: want a name within a folder, with '/' between its parts", name)
	}
	return nil
}

// Key is the hash of the unit's canonical JSON: keys sorted, no spaces, numbers as they were written.
func (u *Unit) Key() Key {
	v := *u
	v.Name = ""
	b, err := json.Marshal(v)
	if err == nil {
		b, err = canonical(b)
	}
	if err != nil { // the configuration is no JSON: Check says so
		b = []byte(err.Error())
	}
	return HashOf(b)
}

func canonical(b []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// Refuses says why a program of a revision and kernel family does not carry the unit out; nil where it does.
func (u *Unit) Refuses(revision, kernels string) error {
	for _, d := range []struct{ what, unit, own string }{{"revision", u.Revision, revision}, {"kernel family", u.Kernels, kernels}} {
		if d.unit != d.own {
			return &ForeignError{d.what, d.unit, d.own}
		}
	}
	return nil
}

// ForeignError says that results would not be equal to the byte.
type ForeignError struct{ What, Study, Worker string }

// Error names both values.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("the study's %s is %s, this worker's is %s: results could differ in the last bits; start the same program "+
		"on the same kind of machine, or allow it with --inexact", e.What, e.Study, e.Worker)
}
