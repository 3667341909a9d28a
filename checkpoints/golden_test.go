package checkpoints_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/safetensors"
)

// TestGolden writes the policy that is kept in testdata and compares the bytes: a change of format must change its
// version, and old checkpoints must still open. The kept one was written by this test with STOKER_UPDATE=1.
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
	if err != nil {
		t.Fatal(err)
	}
	err = w.Tensors(checkpoints.WeightsFile, nil,
		safetensors.Of("actor/w", []float32{1, -0.5, 0.25, 8}, 2, 2), safetensors.Of("norm/mean", []float64{0.1, 1e300}, 2))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{checkpoints.WeightsFile, checkpoints.ManifestFile, checkpoints.SumsFile} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(golden, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
		}
	}
	if _, err := checkpoints.Open(golden); err != nil {
		t.Error(err)
	}
}
