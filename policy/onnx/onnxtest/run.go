// Package onnxtest runs models in onnxruntime for tests, by a Python that has it. Tests skip, and say how to get one,
// where there is none.
package onnxtest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints/safetensors"
	"github.com/stoker-rl/stoker/policy/onnx"
)

// Variable is the name of the environment variable with the Python that has onnx and onnxruntime.
const Variable = "ONNX_PYTHON"

//go:embed run.py
var script []byte

// Answer is what the model gave, and what onnxruntime and the checker say of it.
type Answer struct {
	// Outputs are by case and name.
	Outputs []map[string][]float32
	Report  Report
}

// Report describes a model that passed onnx.checker in full and was loaded.
type Report struct {
	IR    int            `json:"ir"`
	Opset map[string]int `json:"opset"`
	Bytes int            `json:"bytes"`
	Load  float64        `json:"load_seconds"`
	Nodes int            `json:"nodes"`
	// Call is how long a call takes on one thread, from Python, in seconds: where it was timed.
	Call     float64           `json:"call_seconds"`
	Metadata map[string]string `json:"metadata"`
	// Inputs and Outputs are shapes by name: a number, or the name of a dimension of any size.
	Inputs  map[string][]any `json:"inputs"`
	Outputs map[string][]any `json:"outputs"`
}

// python looks for the Python once.
var python = sync.OnceValues(func() (string, error) {
	path := os.Getenv(Variable)
	if path == "" {
		path = "python3"
	}
	out, err := exec.Command(path, "-c", "import numpy, onnx, onnxruntime").CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return "", fmt.Errorf("%s cannot import numpy, onnx and onnxruntime (%s, %w); policy/onnx/onnxtest/python makes a "+
			"Python that can and prints its path: set %s to that", path, lines[len(lines)-1], err, Variable)
	}
	return path, nil
})

// Python is the path of a Python that has onnx and onnxruntime; without one the test is skipped. Where [Variable] names
// one that does not, the test fails.
func Python(tb testing.TB) string {
	tb.Helper()
	path, err := python()
	if err != nil && os.Getenv(Variable) != "" {
		tb.Fatal(err)
	}
	if err != nil {
		tb.Skip(err)
	}
	return path
}

// Run checks a model and runs it on each case.
func Run(tb testing.TB, model []byte, cases [][]onnx.Tensor) Answer {
	tb.Helper()
	return Time(tb, model, cases, 0)
}

// Time is Run, and then times the calls of all cases for a number of seconds.
func Time(tb testing.TB, model []byte, cases [][]onnx.Tensor, seconds float64) Answer {
	tb.Helper()
	path, dir := Python(tb), tb.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	var in bytes.Buffer
	var tensors []safetensors.Tensor
	for i, c := range cases {
		for _, t := range c {
			tensors = append(tensors, tensor(fmt.Sprintf("%d/%s", i, t.Name), t))
		}
	}
	err := safetensors.Write(&in, nil, tensors...)
	for name, data := range map[string][]byte{"model.onnx": model, "run.py": script, "in": in.Bytes()} {
		if err == nil {
			err = os.WriteFile(file(name), data, 0o600)
		}
	}
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(path, file("run.py"), file("model.onnx"), file("in"), file("out"),
		fmt.Sprint(seconds))
	var errors bytes.Buffer
	cmd.Stderr = &errors
	text, err := cmd.Output()
	if err != nil {
		tb.Fatalf("onnxruntime: %v\n%s", err, errors.String())
	}
	var a Answer
	if err := json.Unmarshal(text, &a.Report); err != nil {
		tb.Fatalf("run.py printed %q: %v", text, err)
	}
	if a.Outputs, err = outputs(file("out"), len(cases)); err != nil {
		tb.Fatal(err)
	}
	return a
}

func tensor(name string, t onnx.Tensor) safetensors.Tensor {
	switch {
	case t.Ints != nil:
		return safetensors.Of(name, t.Ints, t.Shape...)
	case t.Bools != nil:
		bits := make([]uint8, len(t.Bools))
		for i, b := range t.Bools {
			if b {
				bits[i] = 1
			}
		}
		return safetensors.Of(name, bits, t.Shape...)
	}
	return safetensors.Of(name, t.Floats, t.Shape...)
}

func outputs(path string, cases int) ([]map[string][]float32, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := safetensors.Parse(b)
	if err != nil {
		return nil, err
	}
	out := make([]map[string][]float32, cases)
	for _, t := range f.Tensors() {
		var i int
		at, name, _ := strings.Cut(t.Name, "/")
		if _, err := fmt.Sscan(at, &i); err != nil || i >= cases {
			return nil, fmt.Errorf("tensor %q is of no case", t.Name)
		}
		x, err := safetensors.Values[float32](t)
		if err != nil {
			return nil, err
		}
		if out[i] == nil {
			out[i] = map[string][]float32{}
		}
		out[i][name] = x
	}
	return out, nil
}
