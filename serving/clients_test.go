package serving_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/serving"
	"github.com/stoker-rl/stoker/tools/proof"
)

// python is a Python that has a module, named by the variable CLIENTS; without one the test is skipped.
func python(t *testing.T, module string) string {
	t.Helper()
	p := os.Getenv("CLIENTS")
	if p == "" {
		t.Skipf("CLIENTS names no Python with %s; one is what serving/clients/python prints", module)
	}
	if out, err := exec.Command(p, "-c", "import "+module).CombinedOutput(); err != nil {
		t.Skipf("%s has no %s: %s", p, module, out)
	}
	return p
}

// wanted writes what a server is to answer, for clients in other languages.
func wanted(t *testing.T, name string) string {
	t.Helper()
	p, all := seen(t, name)
	k, o := &p.Spec().Kinds[0], &all[0].Kinds[0]
	act := p.NewAction()
	if d, err := p.Decide(t.Context(), all[0], act); err != nil || d.By != policy.ByPolicy {
		t.Fatalf("%v, %v", d, err)
	}
	type tensor struct {
		Datatype string `json:"datatype"`
		Shape    []int  `json:"shape"`
		Data     any    `json:"data"`
	}
	text := must.Get(json.Marshal(map[string]any{
		"model": name, "version": p.Digest(),
		"inputs": map[string]tensor{
			"observation": {"FP32", []int{1, k.Agents, k.Observation.Width()}, o.Values},
			"active":      {"BOOL", []int{1, k.Agents}, o.Active},
		},
		"outputs": map[string]any{"scores": act.Kinds[0]},
	}))(t)
	path := filepath.Join(t.TempDir(), "want.json")
	must.Do(t, os.WriteFile(path, text, 0o600))
	return path
}

// Clients that were not written here get the decisions that package policy makes, bit for bit.
func TestClients(t *testing.T) {
	for script, module := range map[string]string{"triton.py": "tritonclient.grpc", "kserve_client.py": "kserve"} {
		t.Run(script, func(t *testing.T) {
			py := python(t, module)
			r := start(t, []string{"faasconf"}, nil, serving.Files{})
			out, err := exec.Command(py, filepath.Join("clients", script), r.http, r.grpc, r.admin, wanted(t, "faasconf")).CombinedOutput()
			t.Logf("%s", out)
			if err != nil {
				t.Error(err)
			}
			if dir := os.Getenv(proof.Folder); dir != "" {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(script[:len(script)-3], ".txt")), out, 0o600); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
