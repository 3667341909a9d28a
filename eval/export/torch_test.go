package export

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// torchVariable names the Python that has torch and safetensors.
const torchVariable = "TORCH_PYTHON"

// show runs act of the page's script on the observations of a self-test, and prints the actions.
const show = `
import sys
for values in json.load(sys.stdin):
    x = torch.tensor(values).reshape(-1, arch["in"][0]["width"])
    print(json.dumps(act(x).flatten().tolist()))
`

// The script of docs/exporting.md runs a policy's weights in PyTorch, and its actions are those that Stoker recorded.
func TestTorch(t *testing.T) {
	python := os.Getenv(torchVariable)
	if python == "" {
		python = "python3"
	}
	if out, err := exec.Command(python, "-c", "import torch, safetensors").CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		why := "%s cannot import torch and safetensors (%s); name a Python that can with %s"
		if os.Getenv(torchVariable) != "" {
			t.Fatalf(why, python, lines[len(lines)-1], torchVariable)
		}
		t.Skipf(why, python, lines[len(lines)-1], torchVariable)
	}
	page := must.Get(os.ReadFile(filepath.FromSlash("../../docs/exporting.md")))(t)
	_, script, ok := strings.Cut(string(page), "```python\n")
	if !ok {
		t.Fatal("docs/exporting.md has no Python in it")
	}
	script, _, _ = strings.Cut(script, "```")
	c, dir := collect(t, "zoo:faasconf", Options{}), t.TempDir()
	must.Get(c.Write(t.Context(), filepath.Join(dir, "exported"), []Format{Safetensors}, false))(t)
	var seen [][]float32
	for _, v := range c.File.SelfTest {
		seen = append(seen, v.Kinds[0].Values)
	}
	in := must.Get(json.Marshal(seen))(t)
	cmd := exec.CommandContext(t.Context(), python, "-c", script+show)
	var errs bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, bytes.NewReader(in), &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(seen) || len(seen) == 0 {
		t.Fatalf("%d answers to %d observations", len(lines), len(seen))
	}
	for i, line := range lines {
		var got []float32
		must.Do(t, json.Unmarshal([]byte(line), &got))
		want := c.File.SelfTest[i].Kinds[0].Action
		if len(got) != len(want) {
			t.Fatalf("observation %d: %d numbers, want %d", i, len(got), len(want))
		}
		for j := range got {
			if d := got[j] - want[j]; d > 1e-5 || d < -1e-5 {
				t.Errorf("observation %d, action %d: PyTorch gives %g, Stoker %g", i, j, got[j], want[j])
			}
		}
	}
}
