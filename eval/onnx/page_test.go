package onnx

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/policy/onnx"
	"github.com/stoker-rl/stoker/policy/onnx/onnxtest"
)

// The page's Python runs, and the model gives what the bundle's self-test wants.
func TestPage(t *testing.T) {
	python := onnxtest.Python(t)
	page := must.Get(os.ReadFile("../../docs/exporting.md"))(t)
	var script string
	for _, part := range strings.Split(string(page), "```python\n")[1:] {
		if text, _, _ := strings.Cut(part, "```"); strings.Contains(text, "onnxruntime") {
			script = text
		}
	}
	o := (&subject{name: "zoo:faasconf"}).open(t)
	first := o.episode(t, 1)[0]
	o.file.SelfTest = append(o.file.SelfTest, policy.Record(first.Seen, first.Act))
	b := must.Get(bundle.Encode(o.file))(t)
	model := must.Get(onnx.Write(o.file))(t)
	dir := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "exported"), 0o700))
	for name, data := range map[string][]byte{"faasconf.stoker": b, "faasconf.onnx": model} {
		must.Do(t, os.WriteFile(filepath.Join(dir, "exported", name), data, 0o600))
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "replicas") != len(first.Seen.Kinds[0].Active) {
		t.Errorf("the page's script printed (%v)\n%s", err, out)
	}
}
