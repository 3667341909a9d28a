package client

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/serving/internal/inference"
)

const good = `{"model_name":"m","parameters":{"decided_by":"fallback","fallbacks":2},"outputs":[{"name":"action","datatype":"FP32",` +
	`"shape":[1,2],"data":[[0.5,1]]}]}`

// Answers of HTTP: lists may be nested, and what is not a number, or not as many as the shape says, is refused.
func TestParse(t *testing.T) {
	a, err := parse([]byte(good))
	if err != nil || len(a.Outputs) != 1 || !slices.Equal(a.Outputs[0].Data, []float32{0.5, 1}) || a.Params["fallbacks"] != 2. {
		t.Errorf("%+v, %v", a, err)
	}
	for _, c := range []struct{ old, now, want string }{
		{`0.5,1`, `0.5`, "has 1 numbers, its shape is [1 2]"}, {`1]]}`, `null]]}`, "not finite"},
		{`[1,2]`, `[-1,2]`, "the shape [-1 2]"}, {`[1,2]`, `[4611686018427387904,4]`, "the shape [4611686018427387904 4]"},
		{`[[0.5,1]]`, `"x"`, `output "action"`},
	} {
		_, err := parse([]byte(strings.Replace(good, c.old, c.now, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.now, err, c.want)
		}
	}
}

// FuzzParse: no answer panics, and one that is taken has as many numbers as its shape says.
func FuzzParse(f *testing.F) {
	for n := range len(good) + 1 {
		f.Add([]byte(good[:n]))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := parse(text)
		if err != nil {
			return
		}
		for _, o := range a.Outputs {
			if o.check() != nil {
				t.Errorf("%q gives %+v", text, o)
			}
		}
	})
}

// Answers of gRPC hold numbers of several types, as contents or as bytes.
func TestRead(t *testing.T) {
	for datatype, raw := range map[string][]byte{
		"FP32": {0, 0, 0, 0x40}, "INT32": {2, 0, 0, 0}, "INT64": {2, 0, 0, 0, 0, 0, 0, 0}, "FP64": {0, 0, 0, 0, 0, 0, 0, 0x40},
	} {
		o := &inference.ModelInferResponse_InferOutputTensor{Name: "action", Datatype: datatype, Shape: []int64{1, 1}}
		m := &inference.ModelInferResponse{Outputs: []*inference.ModelInferResponse_InferOutputTensor{o}, RawOutputContents: [][]byte{raw}}
		a, err := read(m)
		if err != nil || !slices.Equal(a.Outputs[0].Data, []float32{2}) {
			t.Errorf("%s: %+v, %v", datatype, a, err)
		}
		m.RawOutputContents[0] = raw[:3]
		if _, err := read(m); err == nil {
			t.Errorf("%s: cut bytes are taken", datatype)
		}
		m.RawOutputContents = nil
		o.Contents = &inference.InferTensorContents{Int64Contents: []int64{2}}
		if a, err := read(m); err != nil || !slices.Equal(a.Outputs[0].Data, []float32{2}) {
			t.Errorf("%s as contents: %+v, %v", datatype, a, err)
		}
	}
}
