package wire_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/serving/internal/wire"

	"github.com/stoker-rl/stoker/internal/must"
)

// A request's parts are what its JSON says, in any order of keys, and with data flat or nested.
func TestParse(t *testing.T) {
	body := ` { "outputs" : [ {"name":"action","parameters":{"binary_data":false}}, {"name":"scores"} ],
	"parameters":{"binary_data_output":true,"sequence_id":7,"x":1.5,"s":"a\u00e9\n"},
	"inputs":[{"data":[[1,-2.5e1],[0,3]],"shape":[2,2],"datatype":"FP32","name":"observation"},
	{"name":"active","datatype":"BOOL","shape":[2],"data":[true,false]},
	{"name":"i","datatype":"INT64","shape":[1,2],"data":[9007199254740993,-1]}],"id":"é" } `
	var r wire.Request
	for range 2 { // the second time it is used again
		must.Do(t, r.Parse([]byte(body), len(body)))
		if r.ID != "é" || r.Params["sequence_id"] != int64(7) || r.Params["x"] != 1.5 || r.Params["s"] != "aé\n" {
			t.Errorf("%+v", r)
		}
		floats, bools, ints := make([]float32, 4), make([]bool, 2), make([]int64, 2)
		for _, err := range []error{r.Inputs[0].ReadFloats(floats), r.Inputs[1].ReadBools(bools), r.Inputs[2].ReadInts(ints)} {
			if err != nil {
				t.Error(err)
			}
		}
		if !slices.Equal(floats, []float32{1, -25, 0, 3}) || !slices.Equal(bools, []bool{true, false}) ||
			!slices.Equal(ints, []int64{9007199254740993, -1}) {
			t.Errorf("%v, %v, %v", floats, bools, ints)
		}
		for name, want := range map[string][2]bool{"action": {true, false}, "scores": {true, true}, "more": {false, false}} {
			if wanted, binary := r.Wants(name); wanted != want[0] || binary != want[1] {
				t.Errorf("%s: %v, %v, want %v", name, wanted, binary, want)
			}
		}
	}
}

// What is appended is what encoding/json reads, for every number that FP32 has and every text.
func TestAppend(t *testing.T) {
	values := []float32{0, 1, -1.5, 0.1, 1e-30, 3.4e38, 16777217, float32(math.Inf(1)), float32(math.NaN())}
	r := wire.Response{Model: "a\"\\\x01é", Version: "v", ID: "\u2028", Params: []wire.Param{{"decided_by", "policy"}, {"n", int64(3)}, {"b", true}},
		Outputs: []wire.Result{{Name: "action", Shape: []int64{3, 3}, Data: values}, {Name: "raw", Shape: []int64{9}, Data: values, Binary: true}}}
	b, header := r.Append([]byte("before"))
	b = b[len("before"):]
	var got struct {
		Model      string `json:"model_name"`
		ID         string `json:"id"`
		Parameters map[string]any
		Outputs    []struct {
			Data       []*float32
			Parameters map[string]int
		}
	}
	if err := json.Unmarshal(b[:header], &got); err != nil {
		t.Fatalf("%v in %s", err, b[:header])
	}
	if got.Model != r.Model || got.ID != r.ID || got.Parameters["n"] != 3.0 || got.Parameters["b"] != true {
		t.Errorf("%+v", got)
	}
	for i, x := range values {
		if y := got.Outputs[0].Data[i]; (x-x == 0) != (y != nil) || y != nil && *y != x {
			t.Errorf("%g became %v", x, y)
		}
		if y := binary.LittleEndian.Uint32(b[header+4*i:]); y != math.Float32bits(x) {
			t.Errorf("%g became the bits %x", x, y)
		}
	}
	if got.Outputs[1].Parameters["binary_data_size"] != 36 || len(b) != header+36 {
		t.Errorf("%+v, %d bytes after the JSON", got.Outputs[1], len(b)-header)
	}
	r.Outputs = r.Outputs[:1]
	if _, header := r.Append(nil); header != 0 {
		t.Errorf("without bytes the header has %d", header)
	}
}

// examples are bodies to begin fuzzing with.
var examples = []string{
	`{"id":"1","inputs":[{"name":"observation","shape":[1,2,2],"datatype":"FP32","data":[[[1,2],[3,4e-2]]]}]}`,
	`{"parameters":{"sequence_id":7,"sequence_start":true},"inputs":[{"name":"mask","shape":[3],"datatype":"BOOL","data":[true,false,true]}]}`,
	`{"inputs":[{"name":"i","shape":[2,1],"datatype":"INT64","data":[1,-9223372036854775808]}],"outputs":[{"name":"action","parameters":{"binary_data":true}}]}`,
	`{"inputs":[{"name":"o","shape":[9223372036854775807,2],"datatype":"FP32","data":[]}]}`,
	`{"inputs":[{"name":"\ud83d\ude00","shape":[],"datatype":"FP32","data":[[[[[[[[[[1]]]]]]]]]]}]}`,
}

// readAll reads every tensor of a request as its type, of at most a few thousand values.
func readAll(t *testing.T, r *wire.Request) {
	t.Helper()
	for i := range r.Inputs {
		in := &r.Inputs[i]
		n, err := wire.Elements(in.Shape, 1<<12)
		if err != nil {
			continue
		}
		switch in.Type {
		case wire.Float32:
			x := make([]float32, n)
			if err := in.ReadFloats(x); err == nil {
				for _, v := range x {
					if v-v != 0 {
						t.Errorf("%g was taken", v)
					}
				}
			}
		case wire.Bool:
			_ = in.ReadBools(make([]bool, n)) // any error will do
		case wire.Int64:
			_ = in.ReadInts(make([]int64, n))
		}
	}
}

// FuzzJSON: what this reader takes encoding/json takes too, and both read the same.
func FuzzJSON(f *testing.F) {
	for _, e := range examples {
		f.Add([]byte(e))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var r wire.Request
		if err := r.Parse(body, len(body)); err != nil {
			return
		}
		readAll(t, &r)
		var want struct {
			ID     string
			Inputs []struct {
				Name, Datatype string
				Shape          []int64
				Data           json.RawMessage
			}
		}
		// Data is checked when it is read, so that it may be wrong here; encoding/json then refuses the whole.
		if err := json.Unmarshal(body, &want); err != nil {
			return
		}
		if strings.Contains(string(bytes.ToLower(body)), `\u`) {
			return // keys written with escapes are other keys to encoding/json, which ignores case
		}
		if want.ID != r.ID || len(want.Inputs) != len(r.Inputs) {
			t.Fatalf("read %q with %d inputs, want %q with %d", r.ID, len(r.Inputs), want.ID, len(want.Inputs))
		}
		for i, in := range want.Inputs {
			got := r.Inputs[i]
			if in.Name != got.Name || in.Datatype != got.Type || !slices.Equal(in.Shape, got.Shape) {
				t.Errorf("input %d is %+v, want %+v", i, got, in)
			}
			var flat []float32
			if n, err := wire.Elements(got.Shape, 1<<12); err == nil && got.Type == wire.Float32 &&
				json.Unmarshal(in.Data, &flat) == nil &&
				len(flat) == n && len(got.Shape) > 0 && !bytes.Contains(in.Data, []byte("null")) {
				x := make([]float32, n)
				if err := got.ReadFloats(x); err != nil || !slices.Equal(x, flat) {
					t.Errorf("%s was read as %v, %v", in.Data, x, err)
				}
			}
		}
	})
}

// FuzzBinary: bodies with binary tensors, of any announced lengths, are taken whole or refused.
func FuzzBinary(f *testing.F) {
	for _, e := range examples {
		f.Add([]byte(e), len(e))
	}
	raw := `{"inputs":[{"name":"o","shape":[1,2],"datatype":"FP32","parameters":{"binary_data_size":8}},` +
		`{"name":"a","shape":[2],"datatype":"BOOL","parameters":{"binary_data_size":2}}]}`
	f.Add([]byte(raw+"\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x01"), len(raw))
	f.Add([]byte(raw+"\x00\x00\xc0\x7f"), len(raw))
	f.Fuzz(func(t *testing.T, body []byte, header int) {
		var r wire.Request
		if err := r.Parse(body, header); err != nil {
			return
		}
		taken := 0
		for i := range r.Inputs {
			taken += len(r.Inputs[i].Raw)
		}
		if taken != len(body)-header {
			t.Errorf("%d of %d bytes belong to tensors", taken, len(body)-header)
		}
		readAll(t, &r)
	})
}

// BenchmarkParse reads a request with 64 numbers.
func BenchmarkParse(b *testing.B) {
	body := []byte(`{"inputs":[{"name":"observation","shape":[1,1,64],"datatype":"FP32","data":[` +
		strings.TrimSuffix(strings.Repeat("0.12345678,", 64), ",") + `]}]}`)
	var r wire.Request
	x := make([]float32, 64)
	b.ReportAllocs()
	for b.Loop() {
		must.Do(b, r.Parse(body, len(body)))
		must.Do(b, r.Inputs[0].ReadFloats(x))
	}
}
