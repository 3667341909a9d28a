package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// Write writes tensors and metadata (may be nil) as one file. The order of tensors does not change the bytes: they are
// sorted by element size, the widest first, so that every tensor is aligned, and then by name.
func Write(w io.Writer, metadata map[string]string, tensors ...Tensor) error {
	header, sorted, err := encodeHeader(metadata, tensors)
	if err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	for _, t := range sorted {
		if len(t.Data) == 0 {
			continue
		}
		if _, err := w.Write(t.Data); err != nil {
			return err
		}
	}
	return nil
}

func encodeHeader(metadata map[string]string, tensors []Tensor) ([]byte, []Tensor, error) {
	sorted := slices.Clone(tensors)
	slices.SortStableFunc(sorted, func(a, b Tensor) int {
		return cmp.Or(cmp.Compare(b.DType.Size(), a.DType.Size()), cmp.Compare(a.Name, b.Name))
	})
	var buf bytes.Buffer
	buf.Write(make([]byte, 8))
	put := func(before byte, key string, value any) error {
		buf.WriteByte(before)
		if err := putJSON(&buf, key); err != nil {
			return err
		}
		buf.WriteByte(':')
		return putJSON(&buf, value)
	}
	before := byte('{')
	if len(metadata) > 0 {
		for k, v := range metadata {
			if !utf8.ValidString(k) || !utf8.ValidString(v) {
				return nil, nil, fmt.Errorf("metadata %q is not UTF-8", k)
			}
		}
		if err := put(before, metadataKey, metadata); err != nil { // map keys come out sorted
			return nil, nil, err
		}
		before = ','
	}
	// Entries are in the order of the data: some readers want an empty tensor before the one with the same offset.
	type entry struct {
		DType   DType    `json:"dtype"`
		Shape   []int    `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	seen := map[string]bool{}
	at := int64(0)
	for _, t := range sorted {
		if t.Name == metadataKey || !utf8.ValidString(t.Name) {
			return nil, nil, fmt.Errorf("%q cannot be a tensor's name", t.Name)
		}
		if seen[t.Name] {
			return nil, nil, fmt.Errorf("two tensors are called %q", t.Name)
		}
		seen[t.Name] = true
		size, err := bytesOf(t.DType, t.Shape)
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		if size != int64(len(t.Data)) {
			return nil, nil, fmt.Errorf("tensor %q: shape %v of %s takes %d bytes, its data has %d", t.Name, t.Shape, t.DType,
				size, len(t.Data))
		}
		shape := t.Shape
		if shape == nil {
			shape = []int{} // a scalar: [] in JSON, not null
		}
		if err := put(before, t.Name, entry{t.DType, shape, [2]int64{at, at + size}}); err != nil {
			return nil, nil, err
		}
		before = ','
		at += size
	}
	if before == '{' {
		buf.WriteByte('{')
	}
	buf.WriteByte('}')
	for buf.Len()%8 != 0 {
		buf.WriteByte(' ')
	}
	header := buf.Bytes()
	n := len(header) - 8
	if n > maxHeader {
		return nil, nil, fmt.Errorf("the header takes %d bytes, more than the %d allowed", n, maxHeader)
	}
	binary.LittleEndian.PutUint64(header, uint64(n))
	return header, sorted, nil
}

// putJSON appends one value without a newline and without HTML escapes.
func putJSON(buf *bytes.Buffer, v any) error {
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	buf.Truncate(buf.Len() - 1)
	return nil
}
