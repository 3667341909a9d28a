package checkpoints

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"
)

// Kind is what a checkpoint can be used for.
type Kind string

// The kinds.
const (
	// Full holds everything that a run needs to resume, bit for bit.
	Full Kind = "full"
	// Policy holds what acting needs: weights, and the statistics that belong to them.
	Policy Kind = "policy"
)

// Names of files in a checkpoint. A caller may add others: see [Writer.Blob].
const (
	WeightsFile   = "weights.safetensors"
	OptimiserFile = "optimiser.safetensors"
	EnvsFile      = "envs.bin"
	LearnerFile   = "learner.bin"
	ManifestFile  = "manifest.json"
	SumsFile      = "MANIFEST.sha256"
)

const (
	formatName = "stoker-checkpoint"
	// formatVersion is the version that this program writes. It rises when saved states of learners or environments
	// change.
	formatVersion = 2
	// oldestPolicy is the oldest version whose policies can still be read: they hold only weights and a description.
	oldestPolicy = 1
	// maxManifest is the most bytes that are read into memory before any hash has been checked.
	maxManifest = 64 << 20
)

// Header describes a checkpoint.
type Header struct {
	Kind Kind `json:"kind"`
	// CreatedBy is the program and its version, for people.
	CreatedBy string `json:"created_by"`
	// Kernels is the family of kernels that computed this state. Resuming with another family does not give the same
	// bits.
	Kernels string `json:"kernel_family"`
	// Config is the part of the configuration that shapes results: any JSON value.
	Config json.RawMessage `json:"config"`
	// Load is the load that the policy was trained on, as the environment describes it, where it has one.
	Load json.RawMessage `json:"load,omitempty"`
	// Counters hold steps, episodes, updates and the like.
	Counters map[string]int64 `json:"counters"`
	// Random holds the saved random states by name. A policy has none.
	Random map[string][]byte `json:"random,omitempty"`
}

// FileInfo describes one file of a checkpoint.
type FileInfo struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // hexadecimal, lower case
}

type manifest struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Header
	Replay map[string]ReplayInfo `json:"replay,omitempty"`
	Files  map[string]FileInfo   `json:"files"`
}

// encode returns the canonical text of a manifest: [decodeManifest] refuses any other.
func (m *manifest) encode() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(m) // map keys come out sorted
	return buf.Bytes(), err
}

func decodeManifest(b []byte) (*manifest, error) {
	var probe struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
		Kind    Kind   `json:"kind"`
	}
	if err := json.Unmarshal(b, &probe); err != nil {
		return nil, fmt.Errorf("is not a checkpoint's manifest: %w", err)
	}
	if probe.Format != formatName {
		return nil, fmt.Errorf("format is %q, want %q", probe.Format, formatName)
	}
	if err := checkVersion(probe.Version, probe.Kind); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	m := &manifest{}
	if err := dec.Decode(m); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there are bytes after the manifest's end")
	}
	if err := m.validate(); err != nil {
		return nil, err
	}
	canonical, err := m.encode()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(canonical, b) {
		return nil, errors.New("is not in this program's form (a duplicate key, other spacing): it has been edited")
	}
	return m, nil
}

// checkVersion refuses checkpoints that other versions of Stoker made; the error says what to do.
func checkVersion(version int, kind Kind) error {
	switch {
	case version == formatVersion, kind == Policy && version >= oldestPolicy && version < formatVersion:
		return nil
	case version < formatVersion:
		return fmt.Errorf("made by an older Stoker (format %d); this one reads format %d: train again, or use the "+
			"release that"+
			" made it", version, formatVersion)
	}
	return fmt.Errorf("made by a newer Stoker (format %d); this one reads format %d: use a newer release", version,
		formatVersion)
}

// validate checks a manifest, both before it is written and after it is read.
func (m *manifest) validate() error {
	if err := m.Header.validate(); err != nil {
		return err
	}
	for name, f := range m.Files {
		if err := checkFileName(name); err != nil {
			return err
		}
		if f.Bytes < 0 || !isHash(f.SHA256) {
			return fmt.Errorf("files: %s: bytes %d, sha256 %q, want at least 0 and 64 hexadecimal digits",
				name, f.Bytes, f.SHA256)
		}
	}
	if _, ok := m.Files[WeightsFile]; !ok {
		return fmt.Errorf("files: no %s: every checkpoint has one", WeightsFile)
	}
	if m.Kind == Policy {
		_, optimiser := m.Files[OptimiserFile]
		if optimiser || len(m.Random) > 0 || len(m.Replay) > 0 {
			return errors.New("kind is policy, but it holds an optimiser, random states or replay")
		}
	}
	return m.validateReplay()
}

func (h *Header) validate() error {
	if h.Kind != Full && h.Kind != Policy {
		return fmt.Errorf("kind is %q, want %q or %q", h.Kind, Full, Policy)
	}
	if len(h.Config) == 0 || !json.Valid(h.Config) || !utf8.Valid(h.Config) {
		return errors.New("config is not a JSON value")
	}
	if !utf8.ValidString(h.CreatedBy) || !utf8.ValidString(h.Kernels) {
		return errors.New("created_by or kernel_family is not UTF-8")
	}
	for name := range h.Counters {
		if !utf8.ValidString(name) {
			return fmt.Errorf("counters: name %q is not UTF-8", name)
		}
	}
	for name := range h.Random {
		if !utf8.ValidString(name) {
			return fmt.Errorf("random: name %q is not UTF-8", name)
		}
	}
	return nil
}

// fileName is strict so that a checkpoint can be stored on any file system, also one that ignores case.
var fileName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,99}$`)

func checkFileName(name string) error {
	if name == ManifestFile {
		return fmt.Errorf("file name %q is the manifest's own", name)
	}
	if !fileName.MatchString(name) {
		return fmt.Errorf("file name %q: want up to 100 of a-z, 0-9, '.', '_' and '-', a letter or digit first", name)
	}
	return nil
}

func isHash(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha256.Size && hex.EncodeToString(b) == s
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// encodeSums returns MANIFEST.sha256: a line per file, as sha256sum prints it, sorted by name.
func encodeSums(sums map[string]string) []byte {
	var b []byte
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		b = fmt.Appendf(b, "%s  %s\n", sums[name], name)
	}
	return b
}

// decodeSums accepts only what encodeSums writes.
func decodeSums(b []byte) (map[string]string, error) {
	sums := map[string]string{}
	for i, line := range bytes.SplitAfter(b, []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		hash, name, ok := bytes.Cut(line, []byte("  "))
		if !ok || !isHash(string(hash)) || !bytes.HasSuffix(name, []byte("\n")) {
			return nil, fmt.Errorf("line %d is not a hash, two spaces and a file name", i+1)
		}
		file := string(name[:len(name)-1])
		if file != ManifestFile {
			if err := checkFileName(file); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		}
		if _, twice := sums[file]; twice {
			return nil, fmt.Errorf("line %d: %s is listed twice", i+1, file)
		}
		sums[file] = string(hash)
	}
	if len(sums) == 0 {
		return nil, errors.New("is empty")
	}
	if !bytes.Equal(encodeSums(sums), b) {
		return nil, errors.New("its lines are not sorted by file name")
	}
	return sums, nil
}
