package model

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoker-rl/stoker/internal/must"
)

// message is a message's fields in order, by number: varints and floats as numbers, the rest as bytes.
type message map[protowire.Number][]any

func read(t *testing.T, b []byte) message {
	t.Helper()
	m := message{}
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatalf("no tag in %x", b)
		}
		b = b[n:]
		var v any
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			v, n = protowire.ConsumeFixed32(b)
		case protowire.BytesType:
			v, n = protowire.ConsumeBytes(b)
		}
		if n < 0 || v == nil {
			t.Fatalf("field %d of type %d cannot be read", field, kind)
		}
		m[field], b = append(m[field], v), b[n:]
	}
	return m
}

// in is the only message in a field.
func (m message) in(t *testing.T, field protowire.Number) message {
	t.Helper()
	if len(m[field]) != 1 {
		t.Fatalf("field %d is there %d times, want once", field, len(m[field]))
	}
	return read(t, m[field][0].([]byte))
}

func (m message) is(t *testing.T, field protowire.Number, want ...any) {
	t.Helper()
	same := func(a, b any) bool {
		text, ok := b.(string)
		if !ok {
			return a == b
		}
		raw, ok := a.([]byte)
		return ok && bytes.Equal(raw, []byte(text))
	}
	if !slices.EqualFunc(m[field], want, same) {
		t.Errorf("field %d holds %q, want %q", field, m[field], want)
	}
}

// The bytes are those of onnx.proto3, field by field: the numbers here are from that file.
func TestAppend(t *testing.T) {
	m := &Model{Producer: "p", Version: "1", Doc: "d", Metadata: []Entry{{"k", "v"}, {"l", ""}}, Graph: Graph{
		Name: "g",
		Nodes: []Node{{Name: "n", Op: "Clip", Inputs: []string{"x", "", "c"}, Outputs: []string{"y"}, Attributes: []Attribute{
			{"i", int64(-1)}, {"f", float32(0.2)}, {"s", "add"}, {"l", []int64{0, 2}},
		}}},
		Constants: []Tensor{{Name: "c", Type: Double, Shape: []int{1, 2}, Data: []byte{1, 2}}},
		Inputs:    []Value{{Name: "x", Doc: "seen", Type: Bool, Shape: []Dim{{Name: "batch"}, {Size: 3}}}},
		Outputs:   []Value{{Name: "y", Type: Float}},
	}}
	b := must.Get(m.Append(nil))(t)
	top := read(t, b)
	top.is(t, 1, uint64(10)) // ir_version
	top.is(t, 2, "p")
	top.is(t, 3, "1")
	top.is(t, 6, "d")
	top.in(t, 8).is(t, 2, uint64(18)) // opset_import.version, of the default domain
	if len(top[14]) != 2 {
		t.Fatalf("%d metadata_props, want 2", len(top[14]))
	}
	first := read(t, top[14][0].([]byte))
	first.is(t, 1, "k")
	first.is(t, 2, "v")

	g := top.in(t, 7)
	g.is(t, 2, "g")
	n := g.in(t, 1)
	n.is(t, 1, "x", "", "c")
	n.is(t, 2, "y")
	n.is(t, 3, "n")
	n.is(t, 4, "Clip")
	if len(n[5]) != 4 {
		t.Fatalf("%d attributes, want 4", len(n[5]))
	}
	minus := int64(-1)
	for i, want := range []struct {
		name   string
		field  protowire.Number
		values []any
		kind   uint64
	}{
		{"i", 3, []any{uint64(minus)}, 2}, {"f", 2, []any{math.Float32bits(0.2)}, 1}, {"s", 4, []any{"add"}, 3},
		{"l", 8, []any{uint64(0), uint64(2)}, 7},
	} {
		a := read(t, n[5][i].([]byte))
		a.is(t, 1, want.name)
		a.is(t, want.field, want.values...)
		a.is(t, 20, want.kind)
	}
	c := g.in(t, 5)
	c.is(t, 1, uint64(1), uint64(2)) // dims
	c.is(t, 2, uint64(11))           // data_type: double
	c.is(t, 8, "c")
	c.is(t, 9, "\x01\x02") // raw_data
	x := g.in(t, 11)
	x.is(t, 1, "x")
	x.is(t, 3, "seen")
	tensor := x.in(t, 2).in(t, 1)
	tensor.is(t, 1, uint64(9)) // elem_type: bool
	dims := tensor.in(t, 2)[1]
	read(t, dims[0].([]byte)).is(t, 2, "batch")
	read(t, dims[1].([]byte)).is(t, 1, uint64(3))
	g.in(t, 12).in(t, 2).in(t, 1).is(t, 1, uint64(1)) // an output of float

	if _, err := (&Model{Graph: Graph{Nodes: []Node{{Op: "Clip", Attributes: []Attribute{{"a", 1}}}}}}).Append(nil); err == nil {
		t.Error("an attribute of type int is written, want an error")
	}
}
