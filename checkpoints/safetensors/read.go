package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// maxHeader is the most bytes of a JSON header, as in the format's own library.
const maxHeader = 100_000_000

// metadataKey is the header's one entry that is not a tensor.
const metadataKey = "__metadata__"

// File is a parsed file.
type File struct {
	// Metadata is the header's "__metadata__"; empty where there is none.
	Metadata map[string]string
	tensors  map[string]Tensor
}

// Names returns the tensors' names, sorted.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.tensors)) }

// Tensors returns all tensors, sorted by name.
func (f *File) Tensors() []Tensor {
	out := make([]Tensor, 0, len(f.tensors))
	for _, name := range f.Names() {
		out = append(out, f.tensors[name])
	}
	return out
}

// Tensor returns a tensor by name. The error for a missing one lists the names.
func (f *File) Tensor(name string) (Tensor, error) {
	t, ok := f.tensors[name]
	if !ok {
		return Tensor{}, fmt.Errorf("no tensor %q; the names are %q", name, f.Names())
	}
	return t, nil
}

// place is a tensor and the offsets of its bytes, counted from the end of the header.
type place struct {
	Tensor
	begin, end int64
}

// Parse reads a whole file held in b. The tensors' Data are parts of b, not copies. The error says what is wrong and
// where; b may come from an untrusted source.
func Parse(b []byte) (*File, error) {
	if len(b) < 8 {
		return nil, fmt.Errorf("safetensors: file has %d bytes, want at least the 8 of the header's length", len(b))
	}
	n := binary.LittleEndian.Uint64(b)
	if n > maxHeader {
		return nil, fmt.Errorf("safetensors: header length is %d, more than the %d allowed: not a safetensors file, "+
			"or a damaged one", n, maxHeader)
	}
	if n > uint64(len(b)-8) {
		return nil, fmt.Errorf("safetensors: header should have %d bytes, the file has %d: cut short", n,
			len(b)-8)
	}
	header, data := b[8:8+n], b[8+n:]
	if !utf8.Valid(header) {
		return nil, errors.New("safetensors: header is not UTF-8")
	}
	if len(header) == 0 || header[0] != '{' {
		return nil, errors.New("safetensors: header does not begin with '{'")
	}
	f := &File{tensors: map[string]Tensor{}}
	places, err := f.header(header)
	if err != nil {
		return nil, fmt.Errorf("safetensors: header: %w", err)
	}
	// There are no gaps: sorted by offset, each tensor must begin where the previous one ended.
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end), cmp.Compare(a.Name, b.Name))
	})
	at := int64(0)
	for _, p := range places {
		switch {
		case p.begin > at:
			return nil, fmt.Errorf("safetensors: tensor %q begins at byte %d, the one before it ends at %d: a gap", p.Name,
				p.begin, at)
		case p.begin < at:
			return nil, fmt.Errorf("safetensors: tensor %q begins at byte %d, the one before it ends at %d: an overlap", p.Name,
				p.begin, at)
		case p.end > int64(len(data)):
			return nil, fmt.Errorf("safetensors: tensor %q ends at byte %d, the file holds %d: cut short", p.Name, p.end,
				len(data))
		}
		p.Data = data[p.begin:p.end:p.end]
		f.tensors[p.Name] = p.Tensor
		at = p.end
	}
	if at != int64(len(data)) {
		return nil, fmt.Errorf("safetensors: %d bytes after the last tensor belong to no tensor", int64(len(data))-at)
	}
	return f, nil
}

// DataSize returns the bytes of all tensors that a header describes, so that a reader can refuse a file before it takes
// the memory. The header is the JSON alone, without the eight bytes of its length.
func DataSize(header []byte) (int64, error) {
	if !utf8.Valid(header) || len(header) == 0 || header[0] != '{' {
		return 0, errors.New("safetensors: header is not a JSON object in UTF-8")
	}
	f := &File{tensors: map[string]Tensor{}}
	places, err := f.header(header)
	if err != nil {
		return 0, fmt.Errorf("safetensors: header: %w", err)
	}
	size := int64(0)
	for _, p := range places {
		size = max(size, p.end)
	}
	return size, nil
}

// header decodes the JSON token by token, since encoding/json silently takes the last of two equal keys.
func (f *File) header(b []byte) ([]place, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var places []place
	seen := map[string]bool{}
	err := object(dec, func(key string) error {
		if seen[key] {
			return fmt.Errorf("duplicate key %q", key)
		}
		seen[key] = true
		if key == metadataKey {
			return f.metadata(dec)
		}
		p, err := tensorPlace(dec)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", key, err)
		}
		p.Name = key
		places = append(places, p)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if rest := bytes.TrimRight(b[dec.InputOffset():], " "); len(rest) > 0 {
		return nil, fmt.Errorf("%d bytes after the object, want only spaces", len(rest))
	}
	return places, nil
}

func (f *File) metadata(dec *json.Decoder) error {
	f.Metadata = map[string]string{}
	err := object(dec, func(key string) error {
		tok, err := token(dec)
		if err != nil {
			return err
		}
		v, ok := tok.(string)
		if !ok {
			return fmt.Errorf("%q is not a string", key)
		}
		if _, twice := f.Metadata[key]; twice {
			return fmt.Errorf("duplicate key %q", key)
		}
		f.Metadata[key] = v
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", metadataKey, err)
	}
	return nil
}

// tensorPlace decodes {"dtype": …, "shape": […], "data_offsets": [begin, end]}.
func tensorPlace(dec *json.Decoder) (place, error) {
	var p place
	var offsets []int64
	seen := map[string]bool{}
	err := object(dec, func(key string) error {
		if seen[key] {
			return fmt.Errorf("duplicate key %q", key)
		}
		seen[key] = true
		switch key {
		case "dtype":
			tok, err := token(dec)
			if err != nil {
				return err
			}
			s, ok := tok.(string)
			if !ok {
				return fmt.Errorf("dtype is %v, not a string", tok)
			}
			p.DType = DType(s)
			return nil
		case "shape":
			shape, err := integers(dec)
			if err != nil {
				return fmt.Errorf("shape: %w", err)
			}
			p.Shape = make([]int, len(shape))
			for i, n := range shape {
				if n > math.MaxInt {
					return fmt.Errorf("shape: %d is too large for this machine", n)
				}
				p.Shape[i] = int(n)
			}
			return nil
		case "data_offsets":
			var err error
			if offsets, err = integers(dec); err != nil {
				return fmt.Errorf("data_offsets: %w", err)
			}
			return nil
		}
		return fmt.Errorf("unknown field %q: want dtype, shape and data_offsets", key)
	})
	if err != nil {
		return p, err
	}
	for _, key := range []string{"dtype", "shape", "data_offsets"} {
		if !seen[key] {
			return p, fmt.Errorf("%q is missing", key)
		}
	}
	if len(offsets) != 2 {
		return p, fmt.Errorf("data_offsets has %d numbers, want begin and end", len(offsets))
	}
	p.begin, p.end = offsets[0], offsets[1]
	if p.begin > p.end {
		return p, fmt.Errorf("ends at byte %d, but begins at %d", p.end, p.begin)
	}
	size, err := bytesOf(p.DType, p.Shape)
	if err != nil {
		return p, err
	}
	if size != p.end-p.begin {
		return p, fmt.Errorf("shape %v of %s takes %d bytes, data_offsets gives it %d", p.Shape, p.DType, size, p.end-p.begin)
	}
	return p, nil
}

// object decodes an object and calls field after each key; field must read the value.
func object(dec *json.Decoder, field func(key string) error) error {
	if err := delim(dec, '{'); err != nil {
		return err
	}
	for dec.More() {
		tok, err := token(dec)
		if err != nil {
			return err
		}
		key, ok := tok.(string)
		if !ok {
			return fmt.Errorf("%v is not a key", tok)
		}
		if err := field(key); err != nil {
			return err
		}
	}
	return delim(dec, '}')
}

// integers decodes an array of whole numbers that are not negative.
func integers(dec *json.Decoder) ([]int64, error) {
	if err := delim(dec, '['); err != nil {
		return nil, err
	}
	out := []int64{}
	for dec.More() {
		tok, err := token(dec)
		if err != nil {
			return nil, err
		}
		num, ok := tok.(json.Number)
		if !ok {
			return nil, fmt.Errorf("%v is not a number", tok)
		}
		n, err := strconv.ParseUint(num.String(), 10, 63)
		if err != nil {
			return nil, fmt.Errorf("%v is not a whole number from 0 to 2^63-1", num)
		}
		out = append(out, int64(n))
	}
	return out, delim(dec, ']')
}

func delim(dec *json.Decoder, want json.Delim) error {
	tok, err := token(dec)
	if err != nil {
		return err
	}
	if tok != want {
		return fmt.Errorf("found %v, want %v", tok, want)
	}
	return nil
}

func token(dec *json.Decoder) (json.Token, error) {
	tok, err := dec.Token()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("the JSON ends too early")
	}
	return tok, err
}
