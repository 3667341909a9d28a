package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/stoker-rl/stoker/policy/onnx/model"
)

// builder makes a graph operator by operator. Values go by their names.
type builder struct {
	model model.Graph
	// under begins the names of what follows, such as "layer0/".
	under string
	count int
	known map[string]string // names of constants by type, shape and content
}

func newBuilder(name string) *builder {
	return &builder{model: model.Graph{Name: name}, known: map[string]string{}}
}

// op adds an operator and returns the name of its first output.
func (b *builder) op(kind string, attributes []model.Attribute, in ...string) string {
	b.count++
	name := fmt.Sprintf("%s%s_%d", b.under, strings.ToLower(kind), b.count)
	b.model.Nodes = append(b.model.Nodes, model.Node{
		Name: name, Op: kind, Inputs: in, Outputs: []string{name}, Attributes: attributes,
	})
	return name
}

// do adds an operator without attributes.
func (b *builder) do(kind string, in ...string) string { return b.op(kind, nil, in...) }

// on adds an operator with one attribute that is a whole number.
func (b *builder) on(kind, attribute string, value int64, in ...string) string {
	return b.op(kind, []model.Attribute{{Name: attribute, Value: value}}, in...)
}

// input adds an input of the graph.
func (b *builder) input(name, doc string, t model.Type, shape ...model.Dim) string {
	b.model.Inputs = append(b.model.Inputs, model.Value{Name: name, Doc: doc, Type: t, Shape: shape})
	return name
}

// output names a value as an output of the graph.
func (b *builder) output(name, value, doc string, t model.Type, shape ...model.Dim) {
	b.model.Nodes = append(b.model.Nodes, model.Node{
		Name: name, Op: "Identity", Inputs: []string{value}, Outputs: []string{name},
	})
	b.model.Outputs = append(b.model.Outputs, model.Value{Name: name, Doc: doc, Type: t, Shape: shape})
}

// constant adds a constant. One of the same type, shape and content is there once.
func (b *builder) constant(name string, t model.Type, shape []int, data []byte) string {
	key := fmt.Sprint(t, shape, string(data))
	if is, ok := b.known[key]; ok {
		return is
	}
	b.count++
	name = fmt.Sprintf("%s%s_%d", b.under, name, b.count)
	b.known[key] = name
	b.model.Constants = append(b.model.Constants, model.Tensor{Name: name, Type: t, Shape: shape, Data: data})
	return name
}

// floats is a constant of float32 numbers.
func (b *builder) floats(name string, shape []int, x []float32) string {
	var data []byte
	for _, v := range x {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return b.constant(name, model.Float, shape, data)
}

// doubles is a constant of float64 numbers.
func (b *builder) doubles(name string, shape []int, x []float64) string {
	var data []byte
	for _, v := range x {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
	}
	return b.constant(name, model.Double, shape, data)
}

// bools is a constant of truth values.
func (b *builder) bools(name string, shape []int, x []bool) string {
	data := make([]byte, len(x))
	for i, v := range x {
		if v {
			data[i] = 1
		}
	}
	return b.constant(name, model.Bool, shape, data)
}

// ints is a constant vector of int64 numbers: a shape, axes or indices.
func (b *builder) ints(x ...int64) string {
	var data []byte
	for _, v := range x {
		data = binary.LittleEndian.AppendUint64(data, uint64(v))
	}
	return b.constant("ints", model.Int64, []int{len(x)}, data)
}

// number is a constant number, without dimensions.
func (b *builder) number(x float32) string { return b.floats("number", nil, []float32{x}) }

// double is a constant number in float64, without dimensions.
func (b *builder) double(x float64) string { return b.doubles("number", nil, []float64{x}) }

// cast converts to another type of elements.
func (b *builder) cast(x string, to model.Type) string { return b.on("Cast", "to", int64(to), x) }

// transpose orders the dimensions anew.
func (b *builder) transpose(x string, order ...int64) string {
	return b.op("Transpose", []model.Attribute{{Name: "perm", Value: order}}, x)
}

// reshape gives a value another shape; a 0 stays as it is and a −1 follows from the rest.
func (b *builder) reshape(x string, shape ...int64) string {
	return b.do("Reshape", x, b.ints(shape...))
}

// unsqueeze adds dimensions of size 1.
func (b *builder) unsqueeze(x string, axes ...int64) string {
	return b.do("Unsqueeze", x, b.ints(axes...))
}

// squeeze removes dimensions of size 1.
func (b *builder) squeeze(x string, axes ...int64) string { return b.do("Squeeze", x, b.ints(axes...)) }

// concat joins values along a dimension.
func (b *builder) concat(axis int64, in ...string) string {
	if len(in) == 1 {
		return in[0]
	}
	return b.on("Concat", "axis", axis, in...)
}

// slice is the part [from, to) of a dimension.
func (b *builder) slice(x string, axis, from, to int64) string {
	return b.do("Slice", x, b.ints(from), b.ints(to), b.ints(axis))
}

// sum is the sum over a dimension, which stays with size 1.
func (b *builder) sum(x string, axis int64) string { return b.do("ReduceSum", x, b.ints(axis)) }

// within bounds values by low and high, which have their type.
func (b *builder) within(x, low, high string) string { return b.do("Min", b.do("Max", x, low), high) }

// round rounds to the nearest whole number, halves away from zero as Go's math.Round does; ONNX's Round takes halves to
// the even number. one and half are 1 and 0.5 in the type of x.
func (b *builder) round(x, one, half string) string {
	size := b.do("Abs", x)
	whole := b.do("Floor", size)
	up := b.do("GreaterOrEqual", b.do("Sub", size, whole), half)
	return b.do("Mul", b.do("Sign", x), b.do("Where", up, b.do("Add", whole, one), whole))
}
