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

// Write writes tensors and metadata (may be nil) as one file. The same tensors in any order give the same
// bytes: wider element types come first, so that every tensor is aligned, then names in order.
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
	type entry struct {
		DType   DType    `json:"dtype"`
		Shape   []int    `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	entries := make(map[string]any, len(sorted)+1)
	if len(metadata) > 0 {
		for k, v := range metadata {
			if !utf8.ValidString(k) || !utf8.ValidString(v) {
				return nil, nil, fmt.Errorf("metadata %q is not UTF-8", k)
			}
		}
		entries[metadataKey] = metadata
	}
	at := int64(0)
	for _, t := range sorted {
		if t.Name == metadataKey || !utf8.ValidString(t.Name) {
			return nil, nil, fmt.Errorf("%q cannot be a tensor's name", t.Name)
		}
		if _, twice := entries[t.Name]; twice {
			return nil, nil, fmt.Errorf("two tensors are called %q", t.Name)
		}
		size, err := bytesOf(t.DType, t.Shape)
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		if size != int64(len(t.Data)) {
			return nil, nil, fmt.Errorf("tensor %q: shape %v of %s takes %d bytes, its data has %d", t.Name, t.Shape, t.DType, size, len(t.Data))
		}
		shape := t.Shape
		if shape == nil {
			shape = []int{} // a scalar: [] in JSON, not null
		}
		entries[t.Name] = entry{t.DType, shape, [2]int64{at, at + size}}
		at += size
	}
	var buf bytes.Buffer
	buf.Write(make([]byte, 8))
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(entries); err != nil { // map keys come out sorted
		return nil, nil, err
	}
	header := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	for len(header)%8 != 0 {
		header = append(header, ' ')
	}
	n := len(header) - 8
	if n > maxHeader {
		return nil, nil, fmt.Errorf("the header takes %d bytes, more than the %d allowed", n, maxHeader)
	}
	binary.LittleEndian.PutUint64(header, uint64(n))
	return header, sorted, nil
}
