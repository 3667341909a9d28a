// Package eventtest reads TensorBoard's event files, for tests: every event of a file ([Read]), and the curves of a run's
// folder as TensorBoard shows them ([Scalars]). It shares nothing with package tensorboard, which writes them, so that a
// mistake there is not repeated here. Nothing but tests imports it.
package eventtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Event is one entry of an event file.
type Event struct {
	WallTime    float64 // seconds since 1970
	Step        int64
	FileVersion string // set in the first event of a file
	// Start is true where a run was resumed: earlier events with this step or a later one do not count.
	Start  bool
	Values []Value
}

// Value is what an event says under one tag. What is not set is not there.
type Value struct {
	Tag     string
	Scalar  *float32
	Text    []string // the strings of a tensor
	Plugin  string   // the plugin that shows it
	Content []byte   // that plugin's own data
}

// Read returns the events of a file's bytes, in order, up to the first that cannot be read. The error wraps [ErrTorn]
// where the bytes end inside a record.
func Read(b []byte) ([]Event, error) {
	var events []Event
	for len(b) > 0 {
		data, rest, err := record(b)
		if err != nil {
			return events, err
		}
		e, err := event(data)
		if err != nil {
			return events, err
		}
		events, b = append(events, e), rest
	}
	return events, nil
}

// Point is one number of a curve.
type Point struct {
	Step  int64
	Value float64
}

// Scalars reads the curves of a folder's event files by tag, as TensorBoard shows them: events that a resume made invalid
// are dropped, and a file that ends inside a record counts up to there.
func Scalars(dir string) (map[string][]Point, error) {
	files, err := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*")) // sorted: the oldest first
	if err != nil {
		return nil, err
	}
	curves := map[string][]Point{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		events, err := Read(b)
		if err != nil && !errors.Is(err, ErrTorn) {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, e := range events {
			if e.Start {
				for tag, points := range curves {
					curves[tag] = slices.DeleteFunc(points, func(p Point) bool { return p.Step >= e.Step })
				}
			}
			for _, v := range e.Values {
				if v.Scalar != nil {
					curves[v.Tag] = append(curves[v.Tag], Point{e.Step, float64(*v.Scalar)})
				}
			}
		}
	}
	for tag, points := range curves {
		if len(points) == 0 {
			delete(curves, tag)
		}
	}
	return curves, nil
}

// fields calls each for every field of a message, with its number, and its bytes or, where it has a fixed size, its bits.
func fields(b []byte, each func(num protowire.Number, bits uint64, bytes []byte) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var bits uint64
		var bytes []byte
		switch typ {
		case protowire.VarintType:
			bits, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			bits, n = protowire.ConsumeFixed64(b)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(b)
			bits = uint64(v)
		case protowire.BytesType:
			bytes, n = protowire.ConsumeBytes(b)
		default:
			return fmt.Errorf("field %d is of wire type %d", num, typ)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if err := each(num, bits, bytes); err != nil {
			return err
		}
	}
	return nil
}

// event decodes a message Event of TensorBoard's compat/proto/event.proto.
func event(b []byte) (Event, error) {
	var e Event
	err := fields(b, func(num protowire.Number, bits uint64, bytes []byte) error {
		switch num {
		case 1:
			e.WallTime = math.Float64frombits(bits)
		case 2:
			e.Step = int64(bits)
		case 3:
			e.FileVersion = string(bytes)
		case 5: // a Summary, whose field 1 is a Value
			return fields(bytes, func(_ protowire.Number, _ uint64, bytes []byte) error {
				v, err := value(bytes)
				e.Values = append(e.Values, v)
				return err
			})
		case 7: // a SessionLog, whose status 1 is START
			return fields(bytes, func(num protowire.Number, bits uint64, _ []byte) error {
				e.Start = e.Start || num == 1 && bits == 1
				return nil
			})
		}
		return nil
	})
	return e, err
}

// value decodes a Value of summary.proto: tag, scalar, tensor and the plugin of the metadata.
func value(b []byte) (Value, error) {
	var v Value
	err := fields(b, func(num protowire.Number, bits uint64, bytes []byte) error {
		switch num {
		case 1:
			v.Tag = string(bytes)
		case 2:
			x := math.Float32frombits(uint32(bits))
			v.Scalar = &x
		case 8: // a TensorProto, whose field 8 is a string
			return fields(bytes, func(num protowire.Number, _ uint64, bytes []byte) error {
				if num == 8 {
					v.Text = append(v.Text, string(bytes))
				}
				return nil
			})
		case 9: // a SummaryMetadata, whose field 1 is the plugin
			return fields(bytes, func(num protowire.Number, _ uint64, bytes []byte) error {
				if num != 1 {
					return nil
				}
				return fields(bytes, func(num protowire.Number, _ uint64, bytes []byte) error {
					switch num {
					case 1:
						v.Plugin = string(bytes)
					case 2:
						v.Content = bytes
					}
					return nil
				})
			})
		}
		return nil
	})
	return v, err
}

// ErrTorn says that a file ends inside a record: it is being written, or its writer was killed.
var ErrTorn = errors.New("ends inside a record")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is a CRC-32C as TFRecords store it.
func masked(data []byte) uint32 {
	c := crc32.Checksum(data, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// record takes the first TFRecord off b: its length in 8 bytes, their masked CRC, the data, and the data's.
func record(b []byte) (data, rest []byte, err error) {
	if len(b) < 12 {
		return nil, nil, ErrTorn
	}
	if binary.LittleEndian.Uint32(b[8:]) != masked(b[:8]) {
		return nil, nil, errors.New("the checksum of a record's length is wrong: damaged")
	}
	n := binary.LittleEndian.Uint64(b)
	b = b[12:]
	if n > uint64(len(b)) || n+4 > uint64(len(b)) {
		return nil, nil, ErrTorn
	}
	if binary.LittleEndian.Uint32(b[n:]) != masked(b[:n]) {
		return nil, nil, fmt.Errorf("the checksum of a record of %d bytes is wrong: damaged", n)
	}
	return b[:n], b[n+4:], nil
}
