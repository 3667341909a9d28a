package bundle

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints/safetensors"
	"github.com/stoker-rl/stoker/internal/must"
)

// small is a bundle with something in every entry.
func small() *File {
	return &File{
		Spec:  []byte(`{"id":"test/E-v1","kinds":[{"agents":1,"name":"agent"}]}`),
		Agent: Agent{Name: "test", Env: "test/E-v1", Description: []byte(`{"b":1.50,"a":"<stoker.sha256\":\">"}`)},
		Arrays: map[string]Array{
			"w": {Shape: []int{2, 2}, Data: []float32{1, -2, 0.5, 3}}, "bias": {Shape: []int{2}, Data: []float32{0, 1}},
		},
		Environment: Environment{ID: "test/E-v1", Config: []byte(`{"z":1,"a":[2]}`), Workload: []byte(`{"kind":"poisson"}`)},
		Seen:        []Seen{{Kind: "agent", Features: []Range{{Name: "x", Least: -1, Low: -0.9, Median: 0, High: 2, Greatest: 3}}}},
		Provenance:  Provenance{Name: "run", Config: []byte(`{}`), Trace: "t", Revision: "r", Kernels: "k", Seeds: []uint64{1, 2}, Steps: 9},
		Evaluation:  Evaluation{Evaluated: true, Report: []byte(`{"env":"test/E-v1"}`)},
		Fallback:    &Fallback{Name: "fixed", Config: []byte(`{"share":0.5}`)},
		SelfTest: []Vector{{Kinds: []KindVector{{
			Values: []float32{0.1}, Active: []bool{true}, Mask: []bool{true, false}, Legal: []int8{3},
			Graphs: []GraphVector{{Nodes: []NodeVector{{Count: 1, Features: []float32{2}}},
				Edges: []EdgeVector{{From: []int32{0}, To: []int32{0}}}}},
			Action: []float32{1},
		}}}},
	}
}

func encoded(t testing.TB, f *File) []byte {
	t.Helper()
	b := must.Get(Encode(f))(t)
	return b
}

// What is written is read, and written again with the same bytes.
func TestThereAndBack(t *testing.T) {
	b := encoded(t, small())
	f := must.Get(Decode(b, Limits{Digest: "sha256:" + Digest(b)}))(t)
	if again := encoded(t, f); !bytes.Equal(again, b) {
		t.Errorf("read and written again the bundle is\n%s, want\n%s", again, b)
	}
	want := small()
	// JSON comes out with sorted keys, numbers as they were.
	want.Agent.Description = []byte(`{"a":"<stoker.sha256\":\">","b":1.50}`)
	want.Environment.Config = []byte(`{"a":[2],"z":1}`)
	if !reflect.DeepEqual(f, want) {
		t.Errorf("read\n%+v, want\n%+v", f, want)
	}
	if st, err := safetensors.Parse(b); err != nil || len(st.Names()) != 2 {
		t.Errorf("as safetensors: %v", err)
	}
	path := filepath.Join(t.TempDir(), "a"+Extension)
	must.Do(t, os.WriteFile(path, b, 0o600))
	if g, digest, err := Open(path, Limits{}); err != nil || digest != Digest(b) || !reflect.DeepEqual(f, g) {
		t.Errorf("from a file: %v, digest %s", err, digest)
	}
}

// The order of keys and of arrays does not change the bytes.
func TestSameInputSameBytes(t *testing.T) {
	want := encoded(t, small())
	for range 20 {
		f := small()
		f.Environment.Config = []byte(` { "a" : [2], "z" : 1 } `)
		if got := encoded(t, f); !bytes.Equal(got, want) {
			t.Fatal("the same content gives other bytes")
		}
	}
}

// Every flipped byte and every cut is found, and the error names the place.
func TestDamageIsRefused(t *testing.T) {
	b := encoded(t, small())
	header := 8 + int(binary.LittleEndian.Uint64(b))
	for i := range b {
		for _, flip := range []byte{0xff, 0x01, 0x20} {
			c := bytes.Clone(b)
			c[i] ^= flip
			_, err := Decode(c, Limits{})
			want := "header"
			if i >= header {
				want = "tensor"
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("byte %d ^ %#x: error %v, want one that names the %s", i, flip, err, want)
			}
			if _, _, err := Read(bytes.NewReader(c), Limits{}); err == nil {
				t.Fatalf("byte %d: taken from a reader", i)
			}
		}
	}
	for n := range b {
		if _, err := Decode(b[:n], Limits{}); err == nil {
			t.Fatalf("%d of %d bytes were taken", n, len(b))
		}
		if _, _, err := Read(bytes.NewReader(b[:n]), Limits{}); err == nil {
			t.Fatalf("%d of %d bytes were taken from a reader", n, len(b))
		}
	}
	if _, err := Decode(append(bytes.Clone(b), 0), Limits{}); err == nil {
		t.Error("a byte behind the end was taken")
	}
	if _, _, err := Read(bytes.NewReader(append(bytes.Clone(b), 0)), Limits{}); err == nil {
		t.Error("a byte behind the end was taken from a reader")
	}
}

// forge writes a bundle whose digests are right and whose content need not be.
func forge(t *testing.T, change func(meta map[string]string), tensors ...safetensors.Tensor) []byte {
	t.Helper()
	st := must.Get(safetensors.Parse(encoded(t, small())))(t)
	if tensors == nil {
		tensors = st.Tensors()
	}
	sums := map[string]string{}
	for _, x := range tensors {
		sums[x.Name] = sum(x.Data)
	}
	text := must.Get(json.Marshal(sums))(t)
	st.Metadata[keySums], st.Metadata[keySum] = string(text), zeros
	change(st.Metadata)
	var buf bytes.Buffer
	must.Do(t, safetensors.Write(&buf, st.Metadata, tensors...))
	return seal(buf.Bytes())
}

// seal writes the digest of the header where there is room for it.
func seal(b []byte) []byte {
	if end := 8 + int(binary.LittleEndian.Uint64(b)); end <= len(b) {
		if at, err := sumAt(b[:end]); err == nil {
			copy(b[at:], zeros)
			copy(b[at:], sum(b[:end]))
		}
	}
	return b
}

// Content that must not be taken is refused although its digests are right.
func TestForeignContentIsRefused(t *testing.T) {
	nothing := func(map[string]string) {}
	set := func(key, text string) func(map[string]string) { return func(m map[string]string) { m[key] = text } }
	for want, b := range map[string][]byte{
		"stoker.format is 2, want 1":                     forge(t, set(keyFormat, "2")),
		`unknown key "stoker.more"`:                      forge(t, set("stoker.more", "1")),
		"stoker.evaluation is missing":                   forge(t, func(m map[string]string) { delete(m, keyEvaluation) }),
		"no digest stoker.sha256":                        forge(t, func(m map[string]string) { delete(m, keySum) }),
		`stoker.agent: json: unknown field "path"`:       forge(t, set(keyAgent, `{"name":"test","env":"test/E-v1","path":"/"}`)),
		"stoker.agent: name is empty":                    forge(t, set(keyAgent, `{"env":"test/E-v1"}`)),
		`env is "test/E-v2", but stoker.environment has`: forge(t, set(keyAgent, `{"name":"test","env":"test/E-v2"}`)),
		"stoker.spec: there is text behind":              forge(t, set(keySpec, `{} {}`)),
		"stoker.seen: [0].features[0] is":                forge(t, set(keySeen, `[{"kind":"a","features":[{"min":2,"max":1}]}]`)),
		`there is no tensor "gone"`:                      forge(t, set(keySums, `{"gone":"00"}`), []safetensors.Tensor{}...),
		`tensor "w": number 1 is NaN`: forge(t, nothing, safetensors.Of("w",
			[]float32{1, float32(math.NaN())}, 2)),
		`tensor "w": number 0 is +Inf`:    forge(t, nothing, safetensors.Of("w", []float32{float32(math.Inf(1))}, 1)),
		`tensor "w": holds F64, want F32`: forge(t, nothing, safetensors.Of("w", []float64{1}, 1)),
	} {
		if _, err := Decode(b, Limits{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := Encode(&File{}); err == nil {
		t.Error("an empty bundle was written")
	}
}

// A reader takes no memory for what a bundle only says.
func TestLimits(t *testing.T) {
	b := encoded(t, small())
	if _, err := Decode(b, Limits{Bytes: 23}); err == nil || !strings.Contains(err.Error(), "tensors take 24 bytes, want at most 23") {
		t.Errorf("beyond the limit: %v", err)
	}
	if _, err := Decode(b, Limits{Digest: strings.Repeat("0", 64)}); err == nil || !strings.Contains(err.Error(), "another bundle") {
		t.Errorf("another digest: %v", err)
	}
	if _, err := Decode(b, Limits{Digest: "abc"}); err == nil || !strings.Contains(err.Error(), "want 64 hexadecimal digits") {
		t.Errorf("a wrong digest: %v", err)
	}
	long := binary.LittleEndian.AppendUint64(nil, MaxHeader+1)
	if _, _, err := Read(bytes.NewReader(long), Limits{}); err == nil || !strings.Contains(err.Error(), "at most 1048576") {
		t.Errorf("a long header: %v", err)
	}
	// A header that describes 256 MiB and no byte behind it.
	text := `{"__metadata__":{"stoker.sha256":"` + zeros + `"},"w":{"dtype":"F32","shape":[67108864],"data_offsets":[0,268435456]}}`
	claim := seal(append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, _, err := Read(bytes.NewReader(claim), Limits{}); err == nil || !strings.Contains(err.Error(), "cut short") {
		t.Errorf("a claim of 256 MiB: %v", err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("reading a claim takes %d bytes", took)
	}
}

// Whatever the bytes, Decode returns, and what it takes is written again.
func FuzzDecode(f *testing.F) {
	f.Add(encoded(f, small()))
	f.Add(encoded(f, small())[:500])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		// Damage behind a right digest is what matters: nothing else gets past it.
		if len(b) >= 8 && binary.LittleEndian.Uint64(b) <= uint64(len(b)-8) {
			b = seal(bytes.Clone(b))
		}
		g, err := Decode(b, Limits{})
		if err != nil {
			return
		}
		again, err := Encode(g)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		must.Get(Decode(again, Limits{}))(t)
	})
}
