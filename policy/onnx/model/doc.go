// Package model is the part of the ONNX format that exported policies need: a model with one graph of operators, its
// constants, and the types of its inputs and outputs. [Model.Append] writes the protocol buffers of onnx.proto3 field
// by field, so nothing is registered with the protobuf runtime and a program may link any other ONNX package beside
// this one.
//
// What is not here: which operators a policy becomes (package onnx), and reading models.
package model
