package model

// Versions that every written model asks for.
const (
	// IR is the version of the format, Opset that of the operators.
	IR    = 10
	Opset = 18
)

// Type is the type of a tensor's elements, by its number in TensorProto.DataType.
type Type int64

// The types of elements that are written.
const (
	Float  Type = 1
	Int64  Type = 7
	Bool   Type = 9
	Double Type = 11
)

// Model is a ModelProto.
type Model struct {
	Producer, Version string
	Doc               string
	// Metadata is written in this order.
	Metadata []Entry
	Graph    Graph
}

// Entry is a StringStringEntryProto.
type Entry struct{ Key, Value string }

// Graph is a GraphProto: operators in an order in which they can run.
type Graph struct {
	Name            string
	Nodes           []Node
	Constants       []Tensor // initializers
	Inputs, Outputs []Value
}

// Node is a NodeProto: one operator. Inputs and outputs are named.
type Node struct {
	Name, Op        string
	Inputs, Outputs []string
	Attributes      []Attribute
}

// Attribute is an AttributeProto. Value is an int64, a float32, a string or a []int64.
type Attribute struct {
	Name  string
	Value any
}

// Tensor is a TensorProto. Data is little-endian and row-major; a Bool is one byte.
type Tensor struct {
	Name  string
	Type  Type
	Shape []int
	Data  []byte
}

// Value is a ValueInfoProto: an input or output of the graph.
type Value struct {
	Name, Doc string
	Type      Type
	Shape     []Dim
}

// Dim is a dimension: of a fixed size, or of any size and named.
type Dim struct {
	Size int
	Name string
}

// Fixed is a shape of fixed dimensions.
func Fixed(sizes ...int) []Dim {
	out := make([]Dim, len(sizes))
	for i, n := range sizes {
		out[i].Size = n
	}
	return out
}
