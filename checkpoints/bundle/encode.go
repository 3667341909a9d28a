package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/checkpoints/safetensors"
)

// Keys of the metadata.
const (
	keyFormat      = "stoker.format"
	keySpec        = "stoker.spec"
	keyAgent       = "stoker.agent"
	keyEnvironment = "stoker.environment"
	keySeen        = "stoker.seen"
	keyProvenance  = "stoker.provenance"
	keyEvaluation  = "stoker.evaluation"
	keyFallback    = "stoker.fallback"
	keySelfTest    = "stoker.selftest"
	keySum         = "stoker.sha256"
	keySums        = "stoker.sha256.tensors"
)

// zeros stand in the place of the header's digest while it is computed.
var zeros = strings.Repeat("0", 2*sha256.Size)

// Encode returns a bundle's bytes. What [Decode] would refuse is an error here.
func Encode(f *File) ([]byte, error) {
	b, err := encode(f)
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	// Reading it again finds what is beyond the limits, or not finite, by the rules by which others will.
	if _, err := Decode(b, Limits{}); err != nil {
		return nil, err
	}
	return b, nil
}

func encode(f *File) ([]byte, error) {
	meta := map[string]string{keyFormat: strconv.Itoa(Format), keySum: zeros}
	tensors := make([]safetensors.Tensor, 0, len(f.Arrays))
	sums := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(f.Arrays)) {
		a := f.Arrays[name]
		t := safetensors.Of(name, a.Data, a.Shape...)
		tensors = append(tensors, t)
		sums[name] = sum(t.Data)
	}
	for _, e := range f.entries(sums) {
		text, err := canonical(e.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.key, err)
		}
		meta[e.key] = text
	}
	var buf bytes.Buffer
	if err := safetensors.Write(&buf, meta, tensors...); err != nil {
		return nil, err
	}
	b := buf.Bytes()
	end := 8 + int(binary.LittleEndian.Uint64(b))
	at, err := sumAt(b[:end])
	if err != nil {
		return nil, err
	}
	copy(b[at:], sum(b[:end]))
	return b, nil
}

// entry is a text of the metadata: its key and what it is decoded into, a pointer.
type entry struct {
	key   string
	value any
}

// entries are the texts of a file, in the order in which errors are looked for.
func (f *File) entries(sums map[string]string) []entry {
	return []entry{
		{keySums, &sums}, {keySpec, &f.Spec}, {keyAgent, &f.Agent}, {keyEnvironment, &f.Environment}, {keySeen, &f.Seen},
		{keyProvenance, &f.Provenance}, {keyEvaluation, &f.Evaluation}, {keyFallback, &f.Fallback},
		{keySelfTest, &f.SelfTest},
	}
}

// canonical writes a value as JSON without spaces, with the keys of objects sorted, and with numbers as they were given.
func canonical(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return "", err
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(tree); err != nil { // keys of maps come out sorted
		return "", err
	}
	return strings.TrimSuffix(buf.String(), "\n"), nil
}

// sumAt is where the header's digest lies in b, which ends with the header.
func sumAt(b []byte) (int, error) {
	// A quote within a text is escaped, so that this is found as a key alone.
	mark := []byte(`"` + keySum + `":"`)
	at := bytes.Index(b, mark)
	if at < 0 || at+len(mark)+len(zeros) > len(b) {
		return 0, errors.New("header: no digest " + keySum + ": not a bundle of Stoker, or a damaged one")
	}
	return at + len(mark), nil
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// Digest is the SHA-256 of a bundle's bytes in hexadecimal digits, as sha256sum prints it. It names the bundle.
func Digest(b []byte) string { return sum(b) }
