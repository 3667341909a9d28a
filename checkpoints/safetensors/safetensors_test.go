package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints/safetensors"

	maruel "github.com/maruel/safetensors"
	"pgregory.net/rapid"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/rapidtest"
)

func TestMain(m *testing.M) { rapidtest.Main(m) }

func encode(t testing.TB, meta map[string]string, tensors ...safetensors.Tensor) []byte {
	t.Helper()
	var buf bytes.Buffer
	must.Do(t, safetensors.Write(&buf, meta, tensors...))
	return buf.Bytes()
}

func TestRoundTrip(t *testing.T) {
	f32 := []float32{1, -2.5, float32(math.Inf(1)), math.SmallestNonzeroFloat32, 0, 7}
	f64 := []float64{math.Pi, math.Copysign(0, -1), math.NaN()}
	i64 := []int64{math.MinInt64, -1, 0, math.MaxInt64}
	u8 := []uint8{0, 1, 255}
	b := encode(t, map[string]string{"arch": `{"kind":"mlp"}`, "é": "<&>"},
		safetensors.Of("w", f32, 2, 3), safetensors.Of("z.bytes", u8, 3), safetensors.Of("a.count", i64, 2, 2), safetensors.Of("scalar", f64[:1]), safetensors.Of("norm", f64, 3),
		safetensors.Of[float32]("empty", nil, 0, 4))
	f := must.Get(safetensors.Parse(b))(t)
	if f.Metadata["arch"] != `{"kind":"mlp"}` || f.Metadata["é"] != "<&>" || len(f.Metadata) != 2 {
		t.Errorf("metadata %q", f.Metadata)
	}
	if want := []string{"a.count", "empty", "norm", "scalar", "w", "z.bytes"}; !slices.Equal(f.Names(), want) {
		t.Errorf("names %q", f.Names())
	}
	same(t, f, "w", f32, 2, 3)
	same(t, f, "norm", f64, 3)
	same(t, f, "scalar", f64[:1])
	same(t, f, "a.count", i64, 2, 2)
	same(t, f, "z.bytes", u8, 3)
	same(t, f, "empty", []float32{}, 0, 4)
}

func same[T safetensors.Number](t *testing.T, f *safetensors.File, name string, want []T, shape ...int) {
	t.Helper()
	tensor := must.Get(f.Tensor(name))(t)
	got := must.Get(safetensors.Values[T](tensor))(t)
	// Compare printed values: a NaN is not equal to itself.
	if fmt.Sprint(got) != fmt.Sprint(want) || !slices.Equal(tensor.Shape, shape) {
		t.Errorf("%s: values %v, shape %v, want %v %v", name, got, tensor.Shape, want, shape)
	}
}

// TestGolden holds the bytes fixed. They were written by hand from the format's description and accepted by the
// Python package safetensors 0.8.0 (load_file returned the two tensors and the metadata).
func TestGolden(t *testing.T) {
	header := `{"__metadata__":{"k":"v"},"n":{"dtype":"I64","shape":[],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}    `
	if len(header) != 136 {
		t.Fatal(len(header))
	}
	want := "8800000000000000" + hex.EncodeToString([]byte(header)) + "0300000000000000" + "0000803f" + "000000c0"
	got := hex.EncodeToString(encode(t, map[string]string{"k": "v"}, safetensors.Of("a", []float32{1, -2}, 2), safetensors.Of("n", []int64{3})))
	if got != want {
		t.Errorf("bytes\n%s, want\n%s", got, want)
	}
}

func TestValuesAreViewsAndCopiesWhereTheyMustBe(t *testing.T) {
	b := encode(t, nil, safetensors.Of("w", []float32{1, 2, 3}, 3))
	shifted := append(make([]byte, 1, len(b)+1), b...)[1:] // the same file at an odd address
	for _, file := range [][]byte{b, shifted} {
		f := must.Get(safetensors.Parse(file))(t)
		same(t, f, "w", []float32{1, 2, 3}, 3)
		w, _ := f.Tensor("w")
		if _, err := safetensors.Values[float64](w); err == nil || !strings.Contains(err.Error(), "holds F32, want F64") {
			t.Errorf("wrong type: %v", err)
		}
	}
	f, _ := safetensors.Parse(b)
	if _, err := f.Tensor("v"); err == nil || !strings.Contains(err.Error(), `no tensor "v"; the names are ["w"]`) {
		t.Errorf("missing tensor: %v", err)
	}
}

// file builds a file from a header and data, valid or not.
func file(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	return append(b, make([]byte, data)...)
}

func TestRefusals(t *testing.T) {
	one := func(fields string) []byte { return file(`{"w":{`+fields+`}}`, 8) }
	sound := encode(t, nil, safetensors.Of("w", []float32{1, 2}, 2))
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"nothing", nil, "has 0 bytes"},
		{"seven bytes", make([]byte, 7), "has 7 bytes"},
		{"huge header", binary.LittleEndian.AppendUint64(nil, math.MaxUint64), "more than the 100000000 allowed"},
		{"header beyond the file", binary.LittleEndian.AppendUint64(nil, 100), "cut short"},
		{"empty header", file("", 0), "does not begin with"},
		{"array", file("[]", 0), "does not begin with"},
		{"no JSON", file("{", 0), "ends too early"},
		{"text behind", file("{} x", 0), "want only spaces"},
		{"two objects", file("{}{}", 0), "want only spaces"},
		{"bad UTF-8", file("{\"\xff\":{}}", 0), "not UTF-8"},
		{"data behind", file("{}", 3), "3 bytes after the last tensor"},
		{"no dtype", one(`"shape":[2],"data_offsets":[0,8]`), `tensor "w": "dtype" is missing`},
		{"no shape", one(`"dtype":"F32","data_offsets":[0,8]`), `"shape" is missing`},
		{"no place", one(`"dtype":"F32","shape":[2]`), `"data_offsets" is missing`},
		{"unknown type", one(`"dtype":"BF16","shape":[4],"data_offsets":[0,8]`), `element type "BF16" is unknown`},
		{"type is a number", one(`"dtype":1,"shape":[2],"data_offsets":[0,8]`), "not a string"},
		{"unknown field", one(`"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1`), `unknown field "x"`},
		{"field twice", one(`"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]`), "duplicate key"},
		{"tensor twice",
			file(`{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"w":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}`, 8),
			`duplicate key "w"`},
		{"negative shape", one(`"dtype":"F32","shape":[-2],"data_offsets":[0,8]`), "not a whole number"},
		{"fraction", one(`"dtype":"F32","shape":[2.5],"data_offsets":[0,8]`), "not a whole number"},
		{"shape is text", one(`"dtype":"F32","shape":["2"],"data_offsets":[0,8]`), "is not a number"},
		{"shape is null", one(`"dtype":"F32","shape":null,"data_offsets":[0,8]`), "want ["},
		{"overflow", one(`"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,8]`), "larger than any file"},
		{"overflow to the size", one(`"dtype":"U8","shape":[4294967296,4294967296,1],"data_offsets":[0,0]`),
			"larger than any file"},
		{"three offsets", one(`"dtype":"F32","shape":[2],"data_offsets":[0,8,9]`), "has 3 numbers"},
		{"backwards", one(`"dtype":"F32","shape":[2],"data_offsets":[8,0]`), "but begins at"},
		{"wrong size", one(`"dtype":"F32","shape":[3],"data_offsets":[0,8]`), "takes 12 bytes, data_offsets gives it 8"},
		{"hole at the start", file(`{"w":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}`, 8), "a gap"},
		{"hole", file(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[6,8]}}`, 8), "a gap"},
		{"overlap", file(`{"a":{"dtype":"U8","shape":[6],"data_offsets":[0,6]},"b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}`, 8), "an overlap"},
		{"same place",
			file(`{"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}}`, 8),
			"an overlap"},
		{"beyond the end", file(`{"w":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}}`, 8), "cut short"},
		{"metadata number", file(`{"__metadata__":{"a":1}}`, 0), `"a" is not a string`},
		{"metadata twice", file(`{"__metadata__":{"a":"1","a":"2"}}`, 0), "duplicate key"},
		{"metadata is text", file(`{"__metadata__":"x"}`, 0), "want {"},
		{"one byte less", sound[:len(sound)-1], "cut short"},
		{"one byte more", append(slices.Clone(sound), 0), "1 bytes after the last tensor"},
	} {
		_, err := safetensors.Parse(c.file)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "safetensors: ") {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	for n := range len(sound) {
		if _, err := safetensors.Parse(sound[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are accepted", n, len(sound))
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	ok := safetensors.Of("w", []float32{1, 2}, 2)
	for _, c := range []struct {
		name    string
		meta    map[string]string
		tensors []safetensors.Tensor
		want    string
	}{
		{"shape", nil, []safetensors.Tensor{safetensors.Of("w", []float32{1, 2}, 3)}, "takes 12 bytes, its data has 8"},
		{"negative", nil, []safetensors.Tensor{safetensors.Of("w", []float32{1, 2}, -1, -2)}, "negative dimension"},
		{"negative and empty", nil, []safetensors.Tensor{safetensors.Of[float32]("w", nil, 0, -2)}, "negative dimension"},
		{"twice", nil, []safetensors.Tensor{ok, ok}, `two tensors are called "w"`},
		{"reserved", nil, []safetensors.Tensor{safetensors.Of("__metadata__", []float32{1, 2}, 2)}, "cannot be a tensor's name"},
		{"name", nil, []safetensors.Tensor{safetensors.Of("\xff", []float32{1, 2}, 2)}, "cannot be a tensor's name"},
		{"metadata", map[string]string{"a": "\xff"}, []safetensors.Tensor{ok}, "not UTF-8"},
		{"type", nil, []safetensors.Tensor{{Name: "w", DType: "F16", Data: []byte{0, 0}, Shape: []int{1}}}, `"F16" is unknown`},
	} {
		if err := safetensors.Write(io.Discard, c.meta, c.tensors...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

// TestAgainstAnotherLibrary reads each library's files with the other (which refuses files without tensors).
func TestAgainstAnotherLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tensors []safetensors.Tensor
		for i := range rapid.IntRange(1, 5).Draw(t, "tensors") {
			rows, cols := rapid.IntRange(0, 4).Draw(t, "rows"), rapid.IntRange(1, 4).Draw(t, "cols")
			name := fmt.Sprintf("%s%d", rapid.StringMatching(`[a-z.é"\\<]{0,4}`).Draw(t, "name"), i)
			n := rows * cols
			switch rapid.IntRange(0, 3).Draw(t, "type") {
			case 0:
				tensors = append(tensors, safetensors.Of(name, rapid.SliceOfN(rapid.Float32(), n, n).Draw(t, "v"), rows, cols))
			case 1:
				tensors = append(tensors, safetensors.Of(name, rapid.SliceOfN(rapid.Float64(), n, n).Draw(t, "v"), rows, cols))
			case 2:
				tensors = append(tensors, safetensors.Of(name, rapid.SliceOfN(rapid.Int64(), n, n).Draw(t, "v"), rows, cols))
			case 3:
				tensors = append(tensors, safetensors.Of(name, rapid.SliceOfN(rapid.Uint8(), n, n).Draw(t, "v"), rows, cols))
			}
		}
		var ours bytes.Buffer
		must.Do(t, safetensors.Write(&ours, map[string]string{"k": "v"}, tensors...))
		theirs, err := maruel.Parse(ours.Bytes())
		if err != nil {
			t.Fatalf("the other library refuses: %v", err)
		}
		if len(theirs.Tensors) != len(tensors) || theirs.Metadata["k"] != "v" {
			t.Fatalf("the other library reads %d tensors, want %d", len(theirs.Tensors), len(tensors))
		}
		byName := map[string]safetensors.Tensor{}
		for _, w := range tensors {
			byName[w.Name] = w
		}
		for _, g := range theirs.Tensors {
			w := byName[g.Name]
			if string(g.DType) != string(w.DType) || !bytes.Equal(g.Data, w.Data) || fmt.Sprint(g.Shape) != fmt.Sprint(w.Shape) {
				t.Fatalf("%q: the other library reads %v %v", g.Name, g.DType, g.Shape)
			}
		}
		var back bytes.Buffer
		must.Do(t, theirs.Serialize(&back))
		f, err := safetensors.Parse(back.Bytes())
		if err != nil {
			t.Fatalf("the other library's file: %v", err)
		}
		for _, w := range tensors {
			g, err := f.Tensor(w.Name)
			if err != nil || g.DType != w.DType || !bytes.Equal(g.Data, w.Data) || !slices.Equal(g.Shape, w.Shape) {
				t.Fatalf("%q from the other library: %v %v, %v", w.Name, g.DType, g.Shape, err)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(encode(f, map[string]string{"k": "v"}, safetensors.Of("a", []float32{1, -2}, 2), safetensors.Of("n", []int64{3}),
		safetensors.Of("u", []uint8{1, 2, 3}, 3, 1)))
	f.Add(file(`{"w":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}`, 8))
	f.Add(file(`{"__metadata__":{"a":"1"},"e":{"dtype":"F64","shape":[0,3],"data_offsets":[0,0]}}   `, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := safetensors.Parse(b)
		if err != nil {
			return
		}
		// An accepted file can be written and read again with the same content.
		tensors := file.Tensors()
		total := 0
		for i, tensor := range tensors {
			total += len(tensor.Data)
			if tensor.Name != file.Names()[i] {
				t.Fatalf("tensor %d is %q", i, tensor.Name)
			}
		}
		again := must.Get(safetensors.Parse(encode(t, file.Metadata, tensors...)))(t)
		for _, w := range tensors {
			g, err := again.Tensor(w.Name)
			if err != nil || g.DType != w.DType || !bytes.Equal(g.Data, w.Data) || !slices.Equal(g.Shape, w.Shape) {
				t.Fatalf("%q: %v %v, %v", w.Name, g.DType, g.Shape, err)
			}
		}
		if total > len(b) {
			t.Fatalf("tensors have %d bytes, the file %d", total, len(b))
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	data := make([]float32, 1<<20)
	b.SetBytes(int64(4 * len(data)))
	b.ReportAllocs()
	for b.Loop() {
		must.Do(b, safetensors.Write(io.Discard, nil, safetensors.Of("w", data, len(data))))
	}
}

func BenchmarkParse(b *testing.B) {
	file := encode(b, nil, safetensors.Of("w", make([]float32, 1<<20), 1<<20))
	b.ReportAllocs()
	for b.Loop() {
		f := must.Get(safetensors.Parse(file))(b)
		w, _ := f.Tensor("w")
		must.Get(safetensors.Values[float32](w))(b)
	}
}
