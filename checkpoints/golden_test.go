package checkpoints_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/safetensors"
	"github.com/stoker-rl/stoker/internal/must"
)

// TestGolden writes the policy that is stored in testdata and compares the bytes: a change of format must change its
// version. This test wrote the stored one with STOKER_UPDATE=1.
func TestGolden(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "policy")
	golden := filepath.Join("testdata", "policy")
	if os.Getenv("STOKER_UPDATE") != "" {
		dir = golden
	}
	w, err := checkpoints.Create(durable.OS{}, dir, checkpoints.Header{
		Kind: checkpoints.Policy, CreatedBy: "stoker test", Kernels: "native/go",
		Config:   json.RawMessage(`{"learner":{"gamma":0.950,"hidden":[64,64]}}`),
		Counters: map[string]int64{"steps": 7},
	})
	must.Do(t, err)
	err = w.Tensors(checkpoints.WeightsFile, nil,
		safetensors.Of("actor/w", []float32{1, -0.5, 0.25, 8}, 2, 2), safetensors.Of("norm/mean", []float64{0.1, 1e300}, 2))
	must.Do(t, err)
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{checkpoints.WeightsFile, checkpoints.ManifestFile, checkpoints.SumsFile} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		must.Do(t, err)
		want, err := os.ReadFile(filepath.Join(golden, name))
		must.Do(t, err)
		if string(got) != string(want) {
			t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
		}
	}
	if _, err := checkpoints.Open(golden); err != nil {
		t.Error(err)
	}
}

// Policies of both formats open, hold the same weights, and are exported as the present format.
func TestOldPoliciesOpen(t *testing.T) {
	for name, version := range map[string]string{"policy": "version 2", "policy-v1": "version 1"} {
		dir := filepath.Join("testdata", name)
		c := must.Get(checkpoints.Open(dir))(t)
		if h := c.Header(); h.Kind != checkpoints.Policy || h.Counters["steps"] != 7 {
			t.Errorf("%s: its header is %+v", name, h)
		}
		f := must.Get(c.Tensors(checkpoints.WeightsFile))(t)
		w, err := safetensors.Values[float32](f.Tensors()[0])
		if want := []float32{1, -0.5, 0.25, 8}; err != nil || !slices.Equal(w, want) {
			t.Errorf("%s: weights are %v (%v), want %v", name, w, err, want)
		}
		r, err := checkpoints.Check(dir)
		if err != nil || !strings.Contains(r.String(), version) {
			t.Errorf("%s: %v, want %q in\n%s", name, err, version, r)
		}
		again := must.Get(checkpoints.ExportPolicy(c, durable.OS{}, filepath.Join(t.TempDir(), "again")))(t)
		text := must.Get(again.Read(checkpoints.WeightsFile))(t)
		if old, err := c.Read(checkpoints.WeightsFile); err != nil || string(text) != string(old) {
			t.Errorf("%s: exported weights differ (%v)", name, err)
		}
	}
}
