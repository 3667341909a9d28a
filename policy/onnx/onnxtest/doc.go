// Package onnxtest runs models in onnxruntime for tests, by a Python that has it. Tests skip, and say how to get one,
// where there is none.
package onnxtest
