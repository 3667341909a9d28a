// Package safetensors reads and writes the safetensors format: named tensors after one JSON header.
//
// A file is eight bytes of header length (little-endian), a JSON object with each tensor's type, shape and offsets, and
// the tensors' little-endian bytes without gaps. [Parse] is strict: it refuses gaps, overlaps, bytes after the last
// tensor, and shapes that do not agree with sizes. It knows the four element types of Stoker's engines: F32, F64, I64
// and U8.
//
// The format's own libraries read files written here. The meaning of a tensor, and crash-safe storage of checkpoints,
// are package checkpoints.
package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"unsafe"
)

// DType is a tensor's element type, by the name that the format gives it.
type DType string

// The element types that are read and written.
const (
	F32 DType = "F32"
	F64 DType = "F64"
	I64 DType = "I64"
	U8  DType = "U8"
)

// Size returns the bytes of one element, 0 for an unknown type.
func (d DType) Size() int {
	switch d {
	case F32:
		return 4
	case F64, I64:
		return 8
	case U8:
		return 1
	}
	return 0
}

// Tensor is a named array. Data holds its elements in row-major order, little-endian.
type Tensor struct {
	Name  string
	DType DType
	Shape []int // empty for a scalar
	Data  []byte
}

// Number is an element that a tensor can hold.
type Number interface {
	float32 | float64 | int64 | uint8
}

// hostLittle is whether this machine is little-endian, as the file is, so that a slice can be a view.
var hostLittle = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

func dtypeOf[T Number]() DType {
	switch any(T(0)).(type) {
	case float32:
		return F32
	case float64:
		return F64
	case int64:
		return I64
	}
	return U8
}

// Of returns a tensor over data, whose length must be the product of shape ([Write] checks it). On a
// little-endian machine nothing is copied: the tensor sees later changes of data.
func Of[T Number](name string, data []T, shape ...int) Tensor {
	t := Tensor{Name: name, DType: dtypeOf[T](), Shape: shape}
	size := t.DType.Size()
	if hostLittle && len(data) > 0 {
		t.Data = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*size)
		return t
	}
	t.Data = make([]byte, 0, len(data)*size)
	for _, v := range data {
		switch v := any(v).(type) {
		case float32:
			t.Data = binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(v))
		case float64:
			t.Data = binary.LittleEndian.AppendUint64(t.Data, math.Float64bits(v))
		case int64:
			t.Data = binary.LittleEndian.AppendUint64(t.Data, uint64(v))
		case uint8:
			t.Data = append(t.Data, v)
		}
	}
	return t
}

// Len returns the number of elements.
func (t Tensor) Len() int {
	if s := t.DType.Size(); s > 0 {
		return len(t.Data) / s
	}
	return 0
}

// Values returns the elements of a tensor whose type is T. They are a view of t.Data where the machine is
// little-endian and Data is aligned (it is, for F32 and wider types in files written here), else a copy: treat
// them as read-only.
func Values[T Number](t Tensor) ([]T, error) {
	if err := check[T](t); err != nil {
		return nil, err
	}
	n := t.Len()
	if n == 0 {
		return []T{}, nil
	}
	p := unsafe.Pointer(unsafe.SliceData(t.Data))
	if hostLittle && uintptr(p)%unsafe.Alignof(T(0)) == 0 {
		return unsafe.Slice((*T)(p), n), nil
	}
	out := make([]T, n)
	decode(out, t.Data)
	return out, nil
}

func check[T Number](t Tensor) error {
	if want := dtypeOf[T](); t.DType != want {
		return fmt.Errorf("tensor %q: holds %s, want %s", t.Name, t.DType, want)
	}
	return nil
}

func decode[T Number](dst []T, data []byte) {
	switch dst := any(dst).(type) {
	case []float32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
	case []float64:
		for i := range dst {
			dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
		}
	case []int64:
		for i := range dst {
			dst[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
		}
	case []uint8:
		copy(dst, data)
	}
}

// bytesOf returns the bytes that a shape of a type takes.
func bytesOf(d DType, shape []int) (int64, error) {
	size := d.Size()
	if size == 0 {
		return 0, fmt.Errorf("element type %q is unknown: want F32, F64, I64 or U8", d)
	}
	if slices.Contains(shape, 0) {
		// The other dimensions must not be negative either, but the product is zero and cannot overflow.
		for _, n := range shape {
			if n < 0 {
				return 0, fmt.Errorf("shape %v has a negative dimension", shape)
			}
		}
		return 0, nil
	}
	total := uint64(size)
	for _, n := range shape {
		if n < 0 {
			return 0, fmt.Errorf("shape %v has a negative dimension", shape)
		}
		hi, lo := bits.Mul64(total, uint64(n))
		if hi != 0 || lo > math.MaxInt64 {
			return 0, fmt.Errorf("shape %v of %s is larger than any file", shape, d)
		}
		total = lo
	}
	return int64(total), nil
}
