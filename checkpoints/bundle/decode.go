package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/checkpoints/safetensors"
)

// MaxHeader is the most bytes of a bundle's header, MaxTensors the most of its tensors where [Limits] name no others.
const (
	MaxHeader  = 1 << 20
	MaxTensors = 256 << 20
)

// Limits bound what is read. The zero value has the limits of the format and wants no digest.
type Limits struct {
	// Bytes is the most of all tensors; 0 stands for [MaxTensors].
	Bytes int64
	// Digest is the SHA-256 that the whole file must have, in hexadecimal digits, with or without "sha256:" before them;
	// empty where any is taken.
	Digest string
}

// bytes is the most of all tensors.
func (l Limits) bytes() int64 {
	if l.Bytes > 0 {
		return l.Bytes
	}
	return MaxTensors
}

// digest is the wanted one in small letters without its prefix, empty where any is taken.
func (l Limits) digest() (string, error) {
	d := strings.ToLower(strings.TrimPrefix(l.Digest, "sha256:"))
	if d == "" && l.Digest == "" {
		return "", nil
	}
	if b, err := hex.DecodeString(d); err != nil || len(b) != sha256.Size {
		return "", fmt.Errorf("bundle: digest %q is wanted, want 64 hexadecimal digits as sha256sum prints them", l.Digest)
	}
	return d, nil
}

// Open reads the bundle in a file. It returns its digest beside its content.
func Open(path string, l Limits) (*File, string, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = in.Close() }()
	f, digest, err := Read(in, l)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	return f, digest, nil
}

// Read reads a bundle to the end of r. Memory is taken as bytes arrive, and never more than the limits.
func Read(r io.Reader, l Limits) (*File, string, error) {
	var buf bytes.Buffer
	if _, err := io.CopyN(&buf, r, 8); err != nil && !errors.Is(err, io.EOF) {
		return nil, "", err
	}
	n, err := headerLength(buf.Bytes())
	if err != nil {
		return nil, "", err
	}
	if _, err := io.CopyN(&buf, r, int64(n)); err != nil && !errors.Is(err, io.EOF) {
		return nil, "", err
	}
	size, err := checkHeader(buf.Bytes(), n, l)
	if err != nil {
		return nil, "", err
	}
	// One byte more shows that there are bytes behind the tensors.
	if _, err := io.CopyN(&buf, r, size+1); err != nil && !errors.Is(err, io.EOF) {
		return nil, "", err
	}
	b := buf.Bytes()
	f, err := Decode(b, l)
	if err != nil {
		return nil, "", err
	}
	return f, Digest(b), nil
}

// Decode reads a bundle from its bytes. Arrays may be parts of b, which must not change afterwards. An error names the
// place: header, an entry of the metadata, or a tensor.
func Decode(b []byte, l Limits) (*File, error) {
	want, err := l.digest()
	if err != nil {
		return nil, err
	}
	n, err := headerLength(b)
	if err != nil {
		return nil, err
	}
	if _, err := checkHeader(b, n, l); err != nil {
		return nil, err
	}
	st, err := safetensors.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	if got := Digest(b); want != "" && got != want {
		return nil, fmt.Errorf("bundle: its digest is sha256:%s, want sha256:%s: another bundle", got, want)
	}
	f, err := decode(st)
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	return f, nil
}

// headerLength reads the eight bytes before the header.
func headerLength(b []byte) (int, error) {
	if len(b) < 8 {
		return 0, fmt.Errorf("bundle: has %d bytes, want at least the 8 of its header's length: cut short", len(b))
	}
	n := binary.LittleEndian.Uint64(b)
	if n > MaxHeader {
		return 0, fmt.Errorf("bundle: bytes 0 to 7 say that its header has %d bytes, want at most %d: not a bundle, or a damaged one",
			n, MaxHeader)
	}
	return int(n), nil
}

// checkHeader checks the digest of a header of n bytes, and that its tensors are within the limits. It returns the bytes
// of all tensors.
func checkHeader(b []byte, n int, l Limits) (int64, error) {
	if len(b) < 8+n {
		return 0, fmt.Errorf("bundle: header has %d bytes, want %d: cut short", len(b)-8, n)
	}
	header := b[:8+n]
	at, err := sumAt(header)
	if err != nil {
		return 0, fmt.Errorf("bundle: %w", err)
	}
	h := sha256.New()
	_, _ = h.Write(header[:at]) // a hash's Write never fails
	_, _ = io.WriteString(h, zeros)
	_, _ = h.Write(header[at+len(zeros):])
	if got := hex.EncodeToString(h.Sum(nil)); got != string(header[at:at+len(zeros)]) {
		return 0, fmt.Errorf("bundle: header, bytes 0 to %d: its SHA-256 is not the one in %s: damaged", 7+n, keySum)
	}
	size, err := safetensors.DataSize(header[8:])
	if err != nil {
		return 0, fmt.Errorf("bundle: %w", err)
	}
	if most := l.bytes(); size > most {
		return 0, fmt.Errorf("bundle: tensors take %d bytes, want at most %d", size, most)
	}
	return size, nil
}

// decode reads metadata and arrays.
func decode(st *safetensors.File) (*File, error) {
	f := &File{Arrays: map[string]Array{}}
	var format int
	sums := map[string]string{}
	entries := append([]entry{{keyFormat, &format}}, f.entries(sums)...)
	known := []string{keySum}
	for _, e := range entries {
		known = append(known, e.key)
		text, ok := st.Metadata[e.key]
		if !ok {
			return nil, fmt.Errorf("header: %s is missing", e.key)
		}
		if err := unmarshal(text, e.value); err != nil {
			return nil, fmt.Errorf("%s: %w", e.key, err)
		}
		if e.key == keyFormat && format != Format {
			return nil, fmt.Errorf("%s is %d, want %d: made by another version of Stoker", keyFormat, format, Format)
		}
	}
	for key := range st.Metadata {
		if !slices.Contains(known, key) {
			return nil, fmt.Errorf("header: unknown key %q, want only %s", key, strings.Join(known, ", "))
		}
	}
	for _, t := range st.Tensors() {
		want, ok := sums[t.Name]
		if !ok {
			return nil, fmt.Errorf("tensor %q: has no digest in %s", t.Name, keySums)
		}
		if sum(t.Data) != want {
			return nil, fmt.Errorf("tensor %q: its SHA-256 is not the one in %s: damaged", t.Name, keySums)
		}
		data, err := safetensors.Values[float32](t)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(data, notFinite); i >= 0 {
			return nil, fmt.Errorf("tensor %q: number %d is %g, want a finite number", t.Name, i, data[i])
		}
		f.Arrays[t.Name] = Array{Shape: t.Shape, Data: data}
		delete(sums, t.Name)
	}
	for name := range sums {
		return nil, fmt.Errorf("%s: there is no tensor %q", keySums, name)
	}
	return f, f.check()
}

func notFinite(x float32) bool { return x-x != 0 }

// unmarshal reads a JSON text into v, without room for other keys and for text behind it.
func unmarshal(text string, v any) error {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is text behind the value")
	}
	return nil
}

// check says what does not fit together.
func (f *File) check() error {
	switch {
	case f.Agent.Name == "":
		return fmt.Errorf("%s: name is empty, want that of a learner", keyAgent)
	case f.Agent.Env != f.Environment.ID:
		return fmt.Errorf("%s: env is %q, but %s has id %q", keyAgent, f.Agent.Env, keyEnvironment, f.Environment.ID)
	}
	for i := range f.Seen {
		s := &f.Seen[i]
		for j, r := range s.Features {
			in := []float64{r.Least, r.Low, r.Median, r.High, r.Greatest}
			if !slices.IsSorted(in) || math.IsInf(r.Least, 0) || math.IsInf(r.Greatest, 0) || r.Least != r.Least {
				return fmt.Errorf("%s: [%d].features[%d] is %g, want numbers that do not fall", keySeen, i, j, in)
			}
		}
	}
	return nil
}
