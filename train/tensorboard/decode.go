package tensorboard

import (
	"errors"
	"fmt"
	"math"

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
	Tag       string
	Scalar    *float32
	Text      []string // the strings of a tensor
	Histogram *Histogram
	Plugin    string // the plugin that shows it
	Content   []byte // that plugin's own data
}

// field is one field of a message: number holds what has a fixed size, bytes the rest.
type field struct {
	num    protowire.Number
	typ    protowire.Type
	number uint64
	bytes  []byte
}

// fields calls each for every field of a message.
func fields(b []byte, each func(field) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		f := field{num: num, typ: typ}
		switch typ {
		case protowire.VarintType:
			f.number, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			f.number, n = protowire.ConsumeFixed64(b)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(b)
			f.number = uint64(v)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if err := each(f); err != nil {
			return err
		}
	}
	return nil
}

// is reports whether a field is the one meant; a known number with another wire type is skipped, as an unknown one is.
func (f field) is(num protowire.Number, typ protowire.Type) bool { return f.num == num && f.typ == typ }

func (f field) double() float64 { return math.Float64frombits(f.number) }

func decodeEvent(b []byte) (Event, error) {
	var e Event
	err := fields(b, func(f field) error {
		switch {
		case f.is(eventWallTime, protowire.Fixed64Type):
			e.WallTime = f.double()
		case f.is(eventStep, protowire.VarintType):
			e.Step = int64(f.number)
		case f.is(eventFileVersion, protowire.BytesType):
			e.FileVersion = string(f.bytes)
		case f.is(eventSessionLog, protowire.BytesType):
			return fields(f.bytes, func(f field) error {
				e.Start = e.Start || f.is(sessionLogStatus, protowire.VarintType) && f.number == sessionLogStart
				return nil
			})
		case f.is(eventSummary, protowire.BytesType):
			return fields(f.bytes, func(f field) error {
				if !f.is(summaryValue, protowire.BytesType) {
					return nil
				}
				v, err := decodeValue(f.bytes)
				e.Values = append(e.Values, v)
				return err
			})
		}
		return nil
	})
	if err != nil {
		return Event{}, fmt.Errorf("an event cannot be decoded: %w", err)
	}
	return e, nil
}

func decodeValue(b []byte) (Value, error) {
	var v Value
	err := fields(b, func(f field) error {
		switch {
		case f.is(valueTag, protowire.BytesType):
			v.Tag = string(f.bytes)
		case f.is(valueSimple, protowire.Fixed32Type):
			x := math.Float32frombits(uint32(f.number))
			v.Scalar = &x
		case f.is(valueTensor, protowire.BytesType):
			return fields(f.bytes, func(f field) error {
				if f.is(tensorStrings, protowire.BytesType) {
					v.Text = append(v.Text, string(f.bytes))
				}
				return nil
			})
		case f.is(valueMetadata, protowire.BytesType):
			return fields(f.bytes, func(f field) error {
				if !f.is(metadataPlugin, protowire.BytesType) {
					return nil
				}
				return fields(f.bytes, func(f field) error {
					switch {
					case f.is(pluginName, protowire.BytesType):
						v.Plugin = string(f.bytes)
					case f.is(pluginContent, protowire.BytesType):
						v.Content = append([]byte(nil), f.bytes...)
					}
					return nil
				})
			})
		case f.is(valueHisto, protowire.BytesType):
			h, err := decodeHistogram(f.bytes)
			v.Histogram = h
			return err
		}
		return nil
	})
	return v, err
}

func decodeHistogram(b []byte) (*Histogram, error) {
	h := &Histogram{}
	single := map[protowire.Number]*float64{histoMin: &h.Min, histoMax: &h.Max, histoNum: &h.Count, histoSum: &h.Sum, histoSquares: &h.SumSquares}
	many := map[protowire.Number]*[]float64{histoLimits: &h.Limits, histoCounts: &h.Counts}
	err := fields(b, func(f field) error {
		if p := single[f.num]; p != nil && f.typ == protowire.Fixed64Type {
			*p = f.double()
		}
		if p := many[f.num]; p != nil && f.typ == protowire.BytesType {
			for rest := f.bytes; len(rest) > 0; {
				x, n := protowire.ConsumeFixed64(rest)
				if n < 0 {
					return protowire.ParseError(n)
				}
				*p = append(*p, math.Float64frombits(x))
				rest = rest[n:]
			}
		}
		return nil
	})
	if err == nil && len(h.Limits) != len(h.Counts) {
		err = errors.New("a histogram has another number of limits than of counts")
	}
	return h, err
}
