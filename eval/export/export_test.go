package export

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/checkpoints/safetensors"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/train"
)

func collect(t *testing.T, path string, o Options) *Collected {
	t.Helper()
	o.most = 1
	c := must.Get(Collect(t.Context(), catalog.Default(), path, o))(t)
	return c
}

// Every policy of the zoo leaves from the program alone: it is evaluated, its bundle opens and decides as the policy
// does, a second export has the same bytes, and no text in it is a path of this machine.
func TestZoo(t *testing.T) {
	here := must.Get(os.Getwd())(t)
	for _, name := range zoo.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := collect(t, zoo.Prefix+name, Options{})
			b := must.Get(bundle.Encode(c.File))(t)
			a, err := c.Agree(t.Context(), b)
			if err != nil || a.Observations == 0 || a.Unequal > 0 || a.Fallbacks > 0 {
				t.Fatalf("%+v, %v; want every observation decided as the policy does", a, err)
			}
			again, err := bundle.Encode(collect(t, zoo.Prefix+name, Options{}).File)
			if err != nil || !bytes.Equal(again, b) {
				t.Errorf("a second export has other bytes (%v)", err)
			}
			if c.Name != name || !c.File.Evaluation.Evaluated || len(c.File.SelfTest) == 0 || len(c.File.Seen) == 0 {
				t.Errorf("%s, evaluated %v, %d self-tests, %d ranges", c.Name, c.File.Evaluation.Evaluated, len(c.File.SelfTest),
					len(c.File.Seen))
			}
			head := string(b[8 : 8+binary.LittleEndian.Uint64(b)])
			for _, machine := range []string{here, os.TempDir(), "runs/"} {
				if strings.Contains(head, machine) {
					t.Errorf("the header has %q in it", machine)
				}
			}
			r, err := readBack(c.File)
			if err != nil || len(r.Policies) != 1 || r.Policies[0].text("name") != r.Policy || r.Settings != nil {
				t.Errorf("%v: the report has rows of %v, want that of %s", err, r.Policies, r.Policy)
			}
			for _, x := range r.Comparisons {
				if x.text("a") != r.Policy && x.text("b") != r.Policy {
					t.Errorf("the report compares %s and %s", x.text("a"), x.text("b"))
				}
			}
		})
	}
}

// A dial that the evaluation held is in its whole range among what was seen: the policy has learned on all of it.
func TestTrainingIsSeen(t *testing.T) {
	c := must.Get(Collect(t.Context(), catalog.Default(), "zoo:faasconf", Options{}))(t)
	features := c.File.Seen[0].Features
	at := slices.IndexFunc(features, func(r bundle.Range) bool {
		return strings.Contains(r.Name, "worth") ||
			strings.Contains(r.Name, "dial")
	})
	if at < 0 {
		t.Fatalf("no dial among %v", features)
	}
	if r := features[at]; !(r.Greatest > 2*r.Least) {
		t.Errorf("the dial was seen from %g to %g, want the range of the training", r.Least, r.Greatest)
	}
	if c.File.Provenance.Trace == "" || !strings.Contains(string(c.File.Environment.Config), `"dial":[0.5,6]`) {
		t.Errorf("trace %q, environment %s; want the trace's digest and the environment of the training",
			c.File.Provenance.Trace, c.File.Environment.Config)
	}
}

// Ranges are exact where rows are few; where they are many, ends are exact and quantiles near.
func TestRanges(t *testing.T) {
	few := newTable("k", "", 2, []string{"x"})
	for i := range 1001 {
		few.add([]float32{float32(1000 - i), -1})
	}
	want := bundle.Seen{Kind: "k", Features: []bundle.Range{{Name: "x", Least: 0, Low: 1, Median: 500, High: 999,
		Greatest: 1000}, {Least: -1, Low: -1, Median: -1, High: -1, Greatest: -1}}}
	if got := few.seen(); got.Kind != want.Kind || !slices.Equal(got.Features, want.Features) {
		t.Errorf("%+v, want %+v", got, want)
	}
	many, s := newTable("k", "", 1, nil), rng.NewStream(1, "rows")
	for i := range 10 * mostRows {
		// Later rows are larger: the kept ones must be of all times.
		many.add([]float32{float32(i/mostRows) + float32(s.Float64())})
	}
	r := many.seen().Features[0]
	if r.Least > 0.001 || r.Greatest < 9.999 || math.Abs(r.Median-5) > 0.1 || math.Abs(r.Low-0.01) > 0.01 ||
		math.Abs(r.High-9.99) > 0.01 || len(many.kept) != mostRows {
		t.Errorf("%+v of %d rows kept, want uniform quantiles from 0 to 10", r, len(many.kept))
	}
}

// A tensor of weights is [out, in], with the agents before where each has its own, and every number of the arrays is in
// one of them.
func TestWeights(t *testing.T) {
	for _, c := range []struct {
		policy, tensor string
		shape          []int
	}{
		{"faasconf", "function.network.layer0.weight", []int{128, 37}},
		{"faasconf", "function.network.layer2.bias", []int{4}},
		{"faasconf", "normalise.0.shift", []int{37}},
		{"hops-pricer", "provider.network.layer0.weight", []int{32, 30}},
		{"gnn-placement", "scheduler.network.head.node.1.bias", []int{1}},
	} {
		f := collect(t, zoo.Prefix+c.policy, Options{}).File
		b := must.Get(Weights(f))(t)
		st := must.Get(safetensors.Parse(b))(t)
		x, err := st.Tensor(c.tensor)
		if err != nil || !slices.Equal(x.Shape, c.shape) {
			t.Errorf("%s: %v has shape %v, want %v", c.policy, err, x.Shape, c.shape)
		}
		is, was := 0.0, 0.0
		for _, x := range st.Tensors() {
			values := must.Get(safetensors.Values[float32](x))(t)
			for _, v := range values {
				is += float64(v)
			}
		}
		for _, a := range f.Arrays {
			for _, v := range a.Data {
				was += float64(v)
			}
		}
		if math.Abs(is-was) > 1e-6*math.Abs(was)+1e-9 {
			t.Errorf("%s: the tensors' sum is %g, the arrays' is %g", c.policy, is, was)
		}
	}
}

// TestTransposed: number (o, i) of a tensor is number (i, o) of the array.
func TestTransposed(t *testing.T) {
	f := &bundle.File{Agent: bundle.Agent{Name: "a", Description: []byte(`{"kinds": [{"name": "k", "network": {"kind": "mlp",
		"arch": {"agents": 2, "in": [{"name": "x", "width": 2}], "hidden": [], "out": 3, "activation": "relu"}}}]}`)},
		Arrays: map[string]bundle.Array{"k.network": {Shape: []int{2, 9}}}}
	data := make([]float32, 18)
	for i := range data {
		data[i] = float32(i)
	}
	f.Arrays["k.network"] = bundle.Array{Shape: []int{2, 9}, Data: data}
	b := must.Get(Weights(f))(t)
	st := must.Get(safetensors.Parse(b))(t)
	for name, want := range map[string][]float32{"k.network.layer0.weight": {0, 3, 1, 4, 2, 5, 9, 12, 10, 13, 11, 14},
		"k.network.layer0.bias": {6, 7, 8, 15, 16, 17}} {
		x := must.Get(st.Tensor(name))(t)
		got, err := safetensors.Values[float32](x)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s %v: %v, want %v", name, x.Shape, got, want)
		}
	}
	f.Arrays["k.network"] = bundle.Array{Shape: []int{9}, Data: data[:9]}
	if _, err := Weights(f); err == nil {
		t.Error("an array of another size than its architecture's is written")
	}
}

// What has nothing to export, or names what is not there, is refused with what would be right.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		path string
		o    Options
		want string
	}{
		{"oracle", Options{}, "planner"}, {"autoscaler", Options{}, "nothing learned"},
		{"zoo:nobody", Options{}, "the names are"}, {"nothing", Options{}, "there is no nothing"},
		{"zoo:faasconf", Options{Fallback: "spss"}, "autoscaler, fixed, or none"},
		{"zoo:deeprm", Options{Fallback: "sjf"}, "want none"},
		{"zoo:faasconf", Options{Eval: t.TempDir()}, "--eval"},
	} {
		c.o.most = 1
		_, err := Collect(t.Context(), catalog.Default(), c.path, c.o)
		if !errors.Is(err, train.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %+v: %v, want %q", c.path, c.o, err, c.want)
		}
	}
	spec := &envs.Spec{ID: "mine/Shop-v1", Kinds: []envs.Kind{{Name: "clerk",
		MaskAfter: func(*envs.KindObservation, int, []float32, []bool) error { return nil }}}}
	if err := dependent(spec); err == nil || !strings.Contains(err.Error(), "MaskAfter") {
		t.Errorf("dependent masks of one's own: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	cancel(stop)
	if _, err := Collect(ctx, catalog.Default(), "zoo:faasconf", Options{}); !errors.Is(err, stop) {
		t.Errorf("stopped: %v", err)
	}
}

// A file that is there is left alone where it is the same, refused where it is another one, and replaced when asked.
func TestWrite(t *testing.T) {
	c, dir := collect(t, "zoo:hops-pricer", Options{}), filepath.Join(t.TempDir(), "out")
	formats := must.Get(ParseFormats(strings.Join(Formats(), ", ")))(t)
	first, err := c.Write(t.Context(), dir, formats, false)
	if err != nil || len(first) != len(Formats()) {
		t.Fatalf("%v, %v", first, err)
	}
	for _, w := range first {
		b, err := os.ReadFile(w.File)
		if err != nil || len(b) != w.Bytes || bundle.Digest(b) != w.Digest || w.Unchanged || !w.Evaluated {
			t.Errorf("%+v: %v", w, err)
		}
	}
	again, err := c.Write(t.Context(), dir, formats, false)
	if err != nil || !again[0].Unchanged {
		t.Fatalf("again: %+v, %v", again, err)
	}
	file := first[0].File
	must.Do(t, os.WriteFile(file, []byte("mine"), 0o666))
	if _, err = c.Write(t.Context(), dir, formats, false); !errors.Is(err, train.ErrUsage) {
		t.Errorf("another file: %v", err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "mine" {
		t.Errorf("the other file is now %.20q, %v", b, err)
	}
	if _, err := c.Write(t.Context(), dir, formats, true); err != nil {
		t.Error(err)
	}
	if rep, err := Check(catalog.Default(), file); err != nil || !rep.OK {
		t.Errorf("%v, %v", rep, err)
	}
	if _, err := ParseFormats("bundle,zip"); !errors.Is(err, train.ErrUsage) {
		t.Errorf("zip: %v", err)
	}
}

// Paths that lead out of a folder are cut to their last part, and other texts stay.
func TestWithoutPaths(t *testing.T) {
	got, err := withoutPaths([]byte(`{"a": "/home/me/traces/azure", "b": ["../x/y.csv", "data/y.csv", "and/or"], "c": 1e400,
		"d": {"e": "", "f": ".."}}`))
	want := `{"a":"azure","b":["y.csv","data/y.csv","and/or"],"c":1e400,"d":{"e":"","f":".."}}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	var none json.RawMessage
	if got, err := withoutPaths(none); got != nil || err != nil {
		t.Errorf("of nothing: %s, %v", got, err)
	}
}
