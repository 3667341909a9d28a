// Package model is the part of the ONNX format that exported policies need: a model with one graph of operators, its
// constants, and the types of its inputs and outputs. [Model.Append] writes the protocol buffers of onnx.proto3 field
// by field, so nothing is registered with the protobuf runtime and a program may link any other ONNX package beside
// this one.
//
// What is not here: which operators a policy becomes (package onnx), and reading models.
package model

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

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

// Field numbers of onnx.proto3.
const (
	modelIR, modelProducer, modelVersion, modelDoc, modelGraph, modelOpset, modelMetadata = 1, 2, 3, 6, 7, 8, 14

	opsetVersion         = 2
	entryKey, entryValue = 1, 2

	graphNode, graphName, graphConstant, graphInput, graphOutput = 1, 2, 5, 11, 12

	nodeInput, nodeOutput, nodeName, nodeOp, nodeAttribute = 1, 2, 3, 4, 5

	attributeName, attributeFloat, attributeInt, attributeString, attributeInts, attributeType = 1, 2, 3, 4, 8, 20

	tensorDims, tensorType, tensorName, tensorData = 1, 2, 8, 9

	valueName, valueType, valueDoc      = 1, 2, 3
	typeTensor, tensorElem, tensorShape = 1, 1, 2
	shapeDim, dimValue, dimParam        = 1, 1, 2
)

// Kinds of attributes, AttributeProto.AttributeType.
const (
	kindFloat, kindInt, kindString, kindInts = 1, 2, 3, 7
)

// Append appends the model as protocol buffers to b. The same model gives the same bytes.
func (m *Model) Append(b []byte) ([]byte, error) {
	graph, err := m.Graph.append(nil)
	if err != nil {
		return nil, err
	}
	b = appendInt(b, modelIR, IR)
	b = appendText(b, modelProducer, m.Producer)
	b = appendText(b, modelVersion, m.Version)
	b = appendText(b, modelDoc, m.Doc)
	b = appendBytes(b, modelGraph, graph)
	b = appendBytes(b, modelOpset, appendInt(nil, opsetVersion, Opset))
	for _, e := range m.Metadata {
		b = appendBytes(b, modelMetadata, appendText(appendText(nil, entryKey, e.Key), entryValue, e.Value))
	}
	return b, nil
}

func (g *Graph) append(b []byte) ([]byte, error) {
	for i := range g.Nodes {
		n, err := g.Nodes[i].append(nil)
		if err != nil {
			return nil, err
		}
		b = appendBytes(b, graphNode, n)
	}
	b = appendText(b, graphName, g.Name)
	for i := range g.Constants {
		b = appendBytes(b, graphConstant, g.Constants[i].append(nil))
	}
	for i := range g.Inputs {
		b = appendBytes(b, graphInput, g.Inputs[i].append(nil))
	}
	for i := range g.Outputs {
		b = appendBytes(b, graphOutput, g.Outputs[i].append(nil))
	}
	return b, nil
}

func (n *Node) append(b []byte) ([]byte, error) {
	for _, name := range n.Inputs {
		b = appendBytes(b, nodeInput, []byte(name)) // an empty name is an input left out
	}
	for _, name := range n.Outputs {
		b = appendBytes(b, nodeOutput, []byte(name))
	}
	b = appendText(b, nodeName, n.Name)
	b = appendText(b, nodeOp, n.Op)
	for _, a := range n.Attributes {
		text := appendText(nil, attributeName, a.Name)
		switch v := a.Value.(type) {
		case float32:
			text = protowire.AppendTag(text, attributeFloat, protowire.Fixed32Type)
			text = protowire.AppendFixed32(text, math.Float32bits(v))
			text = appendInt(text, attributeType, kindFloat)
		case int64:
			text = appendInt(appendInt(text, attributeInt, v), attributeType, kindInt)
		case string:
			text = appendInt(appendText(text, attributeString, v), attributeType, kindString)
		case []int64:
			for _, i := range v {
				text = appendInt(text, attributeInts, i)
			}
			text = appendInt(text, attributeType, kindInts)
		default:
			return nil, fmt.Errorf("onnx: attribute %s of %s is a %T, want an int64, a float32, a string or a []int64", a.Name,
				n.Op, v)
		}
		b = appendBytes(b, nodeAttribute, text)
	}
	return b, nil
}

func (t *Tensor) append(b []byte) []byte {
	for _, n := range t.Shape {
		b = appendInt(b, tensorDims, int64(n))
	}
	b = appendInt(b, tensorType, int64(t.Type))
	b = appendText(b, tensorName, t.Name)
	return appendBytes(b, tensorData, t.Data)
}

func (v *Value) append(b []byte) []byte {
	var shape []byte
	for _, d := range v.Shape {
		var dim []byte
		if d.Name != "" {
			dim = appendText(dim, dimParam, d.Name)
		} else {
			dim = appendInt(dim, dimValue, int64(d.Size))
		}
		shape = appendBytes(shape, shapeDim, dim)
	}
	tensor := appendBytes(appendInt(nil, tensorElem, int64(v.Type)), tensorShape, shape)
	b = appendText(b, valueName, v.Name)
	b = appendBytes(b, valueType, appendBytes(nil, typeTensor, tensor))
	return appendText(b, valueDoc, v.Doc)
}

func appendInt(b []byte, field protowire.Number, v int64) []byte {
	b = protowire.AppendTag(b, field, protowire.VarintType)
	return protowire.AppendVarint(b, uint64(v))
}

func appendBytes(b []byte, field protowire.Number, v []byte) []byte {
	b = protowire.AppendTag(b, field, protowire.BytesType)
	return protowire.AppendBytes(b, v)
}

// appendText leaves an empty text out.
func appendText(b []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	b = protowire.AppendTag(b, field, protowire.BytesType)
	return protowire.AppendString(b, s)
}
