package workflow

import (
	"encoding/json"
	"reflect"
	"testing"
)

// Whatever a graph says, it is refused or compiles to a workflow that has an answer to everything, and that is the same
// when it is written out and read back.
func FuzzGraph(f *testing.F) {
	for _, g := range append(FaaSConf(), diamond()) {
		b, err := json.Marshal(g)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var g Graph
		if json.Unmarshal(b, &g) != nil {
			return
		}
		w, err := g.Compile()
		if err != nil {
			return
		}
		times := make([]float64, w.NumNodes())
		for i := range times {
			times[i] = float64(i)
		}
		_ = w.Response(times, Delays{})
		_, _ = w.CriticalPath(nil, times, Delays{})
		_, _ = w.Paths(16)
		text, err := json.Marshal(w.Graph())
		if err != nil {
			t.Fatal(err)
		}
		var back Graph
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if again, err := back.Compile(); err != nil || again.fingerprint != w.fingerprint {
			t.Errorf("%s came back as another workflow, or as none: %v", text, err)
		}
	})
}

// A graph is a plain value: written out and read back it compiles to the same workflow.
func TestJSON(t *testing.T) {
	for _, g := range append(FaaSConf(), diamond()) {
		w := compile(t, g)
		b, err := json.Marshal(w.Graph())
		if err != nil {
			t.Fatal(err)
		}
		var back Graph
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back, w.Graph()) {
			t.Errorf("%s came back as %s", g.Name, b)
		}
		if compile(t, back).fingerprint != w.fingerprint {
			t.Errorf("%s came back as another workflow", g.Name)
		}
	}
}
