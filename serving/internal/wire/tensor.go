package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// Datatypes of the protocol that policies take and give.
const (
	Float32 = "FP32"
	Bool    = "BOOL"
	Int64   = "INT64"
)

// sizes are the bytes of a value of each of the protocol's types that have a fixed size.
var sizes = map[string]int{
	Bool: 1, "UINT8": 1, "INT8": 1, "UINT16": 2, "INT16": 2, "FP16": 2, "BF16": 2, "UINT32": 4, "INT32": 4, Float32: 4,
	"UINT64": 8, Int64: 8, "FP64": 8,
}

// Tensor is an input as it came. Its values stay in the wire's form until they are read into their place.
type Tensor struct {
	Name  string
	Type  string
	Shape []int64
	// One of these holds the values: the text of a JSON array, bytes (little-endian, row-major), or numbers as gRPC has
	// decoded them.
	Text    []byte
	Raw     []byte
	Floats  []float32
	Bools   []bool
	Ints    []int64
	decoded bool

	binary int64 // of the parameter binary_data_size, −1 where it is not given
}

// Decoded says that the values are in Floats, Bools or Ints.
func (t *Tensor) Decoded() { t.decoded = true }

// Elements is the number of values that the shape promises. A shape below zero or of more than limit values is an
// error.
func Elements(shape []int64, limit int64) (int, error) {
	n := int64(1)
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a size below 0", shape)
		}
		if d > 0 && n > limit/d {
			return 0, fmt.Errorf("shape %v has more than %d values", shape, limit)
		}
		n *= d
	}
	return int(n), nil
}

// ReadFloats reads the values into dst, which has as many as the shape promises. Values that are not finite are errors.
func (t *Tensor) ReadFloats(dst []float32) error {
	if err := t.typed(Float32, len(dst)); err != nil {
		return err
	}
	switch {
	case t.decoded:
		if err := t.count(len(t.Floats), len(dst)); err != nil {
			return err
		}
		copy(dst, t.Floats)
	case t.Raw != nil:
		if err := t.count(len(t.Raw)/4, len(dst)); err != nil {
			return err
		}
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.Raw[4*i:]))
		}
	default:
		return read(t, dst, func(s *scanner) (float32, error) {
			text, err := s.number()
			if err != nil {
				return 0, err
			}
			x, err := strconv.ParseFloat(text, 32)
			if err != nil {
				return 0, fmt.Errorf("%s is beyond FP32", text)
			}
			return float32(x), nil
		})
	}
	for i, x := range dst {
		if x-x != 0 {
			return fmt.Errorf("data[%d] is %g, want a finite number", i, x)
		}
	}
	return nil
}

// ReadBools reads the values into dst.
func (t *Tensor) ReadBools(dst []bool) error {
	if err := t.typed(Bool, len(dst)); err != nil {
		return err
	}
	switch {
	case t.decoded:
		if err := t.count(len(t.Bools), len(dst)); err != nil {
			return err
		}
		copy(dst, t.Bools)
	case t.Raw != nil:
		if err := t.count(len(t.Raw), len(dst)); err != nil {
			return err
		}
		for i, b := range t.Raw {
			if b > 1 {
				return fmt.Errorf("data[%d] is the byte %d, want 0 or 1", i, b)
			}
			dst[i] = b == 1
		}
	default:
		return read(t, dst, (*scanner).boolean)
	}
	return nil
}

// ReadInts reads the values into dst.
func (t *Tensor) ReadInts(dst []int64) error {
	if err := t.typed(Int64, len(dst)); err != nil {
		return err
	}
	switch {
	case t.decoded:
		if err := t.count(len(t.Ints), len(dst)); err != nil {
			return err
		}
		copy(dst, t.Ints)
	case t.Raw != nil:
		if err := t.count(len(t.Raw)/8, len(dst)); err != nil {
			return err
		}
		for i := range dst {
			dst[i] = int64(binary.LittleEndian.Uint64(t.Raw[8*i:]))
		}
	default:
		return read(t, dst, func(s *scanner) (int64, error) {
			text, err := s.number()
			if err != nil {
				return 0, err
			}
			x, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("%s is no whole number of 64 bits", text)
			}
			return x, nil
		})
	}
	return nil
}

// typed checks the type, and that bytes are whole values.
func (t *Tensor) typed(want string, n int) error {
	if t.Type != want {
		return fmt.Errorf("datatype is %q, want %q", t.Type, want)
	}
	if t.Raw != nil && len(t.Raw) != n*sizes[want] {
		return fmt.Errorf("data has %d bytes, want %d for shape %v of %s", len(t.Raw), n*sizes[want], t.Shape, want)
	}
	return nil
}

func (t *Tensor) count(got, want int) error {
	if got != want {
		return fmt.Errorf("data has %d values, shape %v has %d", got, t.Shape, want)
	}
	return nil
}

// read reads a JSON array, flat or nested as the shape is.
func read[T any](t *Tensor, dst []T, value func(*scanner) (T, error)) error {
	s, n := scanner{b: t.Text}, 0
	leaf := func() error {
		x, err := value(&s)
		if err != nil {
			return fmt.Errorf("data[%d]: %w", n, err)
		}
		if n == len(dst) {
			return fmt.Errorf("data has more than %d values, shape %v has %d", n, t.Shape, n)
		}
		dst[n] = x
		n++
		return nil
	}
	var level func(dim int) error
	level = func(dim int) error {
		if err := s.expect('['); err != nil {
			return err
		}
		nested := s.space() == '['
		for i := 0; ; i++ {
			more, err := s.next(i == 0, ']')
			if err != nil {
				return err
			}
			if !more {
				flat := dim == 0 && !nested
				if !flat && int64(i) != t.Shape[dim] {
					return fmt.Errorf("data has %d entries at depth %d, shape %v has %d", i, dim, t.Shape, t.Shape[dim])
				}
				return nil
			}
			switch {
			case nested && dim+1 == len(t.Shape):
				err = fmt.Errorf("data nests deeper than shape %v", t.Shape)
			case nested:
				err = level(dim + 1)
			case dim > 0 && dim+1 < len(t.Shape):
				err = fmt.Errorf("data nests less deep than shape %v", t.Shape)
			default:
				err = leaf()
			}
			if err != nil {
				return err
			}
		}
	}
	if len(t.Shape) == 0 {
		return fmt.Errorf("shape is empty, want at least one size")
	}
	if err := level(0); err != nil {
		return err
	}
	return t.count(n, len(dst))
}
