package foreign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoker-rl/stoker/envs"
)

// mostModel is the most bytes of an ONNX file.
const mostModel = 64 << 20

// install is what gives a Python what ONNX files need, in the folder of Stoker's source.
const install = "-m pip install './python[onnx]'"

// openModel lets a Python run an ONNX file in onnxruntime, which answers lines as a command does.
func openModel(ctx, start context.Context, file string, spec *envs.Spec, o Options) (transport, error) {
	if err := checkModel(file); err != nil {
		return nil, err
	}
	words := []string{o.Python, "-m", "stoker_rl.onnx", file}
	if o.Bind != "" {
		words = append(words, "--bind", o.Bind)
	}
	c, err := launch(ctx, start, words, spec)
	var d *died
	switch {
	case err == nil:
		return c, nil
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%w: ONNX files need Python 3.10 or newer: install it, or name one with --python", err)
	case errors.As(err, &d):
		if _, module, ok := strings.Cut(d.said, "No module named "); ok {
			module = strings.Trim(strings.Fields(module)[0], `'"):`)
			return nil, fmt.Errorf("%s has no module %s: type, in the folder of Stoker's source\n  %s %s", o.Python, module, o.Python, install)
		}
	}
	return nil, err
}

// checkModel refuses what is too large, and tensors that lie in other files: their paths may point anywhere.
func checkModel(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > mostModel {
		return fmt.Errorf("it has %d bytes, want a file of at most %d", info.Size(), mostModel)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return checkMessage(b, "model", 0)
}

// parts are the messages within those of ONNX that can hold tensors, by the number of the field.
var parts = map[string]map[protowire.Number]string{
	"model":     {7: "graph", 20: "training", 25: "function"},
	"graph":     {1: "node", 5: "tensor", 15: "sparse"},
	"node":      {5: "attribute"},
	"function":  {7: "node", 11: "attribute"},
	"training":  {1: "graph", 2: "graph"},
	"attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
	"sparse":    {1: "tensor", 2: "tensor"},
}

// mostDepth bounds graphs within graphs.
const mostDepth = 64

func checkMessage(b []byte, kind string, depth int) error {
	if depth > mostDepth {
		return errors.New("it is no ONNX model: its graphs lie too deep in each other")
	}
	const external, location = 13, 14 // of a tensor
	for len(b) > 0 {
		field, form, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("it is no ONNX model: %w", protowire.ParseError(n))
		}
		value := b[n:]
		m := protowire.ConsumeFieldValue(field, form, value)
		if m < 0 {
			return fmt.Errorf("it is no ONNX model: %w", protowire.ParseError(m))
		}
		b = value[m:]
		if kind == "tensor" && (field == external || field == location && value[0] != 0) {
			return errors.New("it has tensors in other files: save it with all data inside (onnx.save without " +
				"save_as_external_data)")
		}
		if part, ok := parts[kind][field]; ok && form == protowire.BytesType {
			inside, _ := protowire.ConsumeBytes(value)
			if err := checkMessage(inside, part, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
