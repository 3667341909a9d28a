// Package onnx tests exported ONNX models against the policies that they were made from: those of every form of every
// learner, trained for a moment, and those that come with Stoker. onnxruntime runs the models; the tests skip where no
// Python has it.
//
// Not here: writing models (package policy/onnx), and the check itself (package policy/onnx/onnxtest).
package onnx
