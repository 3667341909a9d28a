package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/sizing/library"
	"github.com/stoker-rl/stoker/internal/must"
)

// A library is written from an environment's id, summed up, and not replaced unasked; what is wrong is said.
func TestLibrary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "rows.csv")
	make := func(more ...string) (int, string, string) {
		return stoker(append([]string{"library", "--env", "stoker/Sizing-v2", "--users", "10,20", "--set", "env.windows=5",
			"--rows", "20", "--out", path}, more...)...)
	}
	if code, out, errs := make(); code != exitDone || !strings.Contains(out, "cheapest feasible") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	was := must.Get(os.ReadFile(path))(t)
	if code, _, errs := make(); code != exitUsage || !strings.Contains(errs, "exists") {
		t.Errorf("writing twice: exit %d: %s", code, errs)
	}
	if code, _, errs := make("--force", "--workers", "3"); code != exitDone {
		t.Errorf("--force: exit %d: %s", code, errs)
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != string(was) {
		t.Errorf("three workers write another file (%v)", err)
	}
	code, out, errs := stoker("library", "show", path, "--json")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	list := decode[[]library.Summary](t, out)
	if len(list) != 2 || list[0].Users != 10 || list[0].Rows+list[1].Rows != 20 {
		t.Errorf("summaries are %+v", list)
	}
	if code, _, errs := make("--force", "--policy", "fixed", "--noise", "0.1"); code != exitDone {
		t.Errorf("--policy: exit %d: %s", code, errs)
	}
	missing := filepath.Join(t.TempDir(), "none.csv")
	for want, a := range map[string][]string{
		"--out is missing":           {"library", "--env", "stoker/Sizing-v2"},
		"the environment is missing": {"library", "--out", missing},
		"want one of them":           {"library", "x.yaml", "--env", "stoker/Sizing-v2", "--out", missing},
		"--clip has 1 numbers":       {"library", "--env", "stoker/Sizing-v2", "--clip", "0.2", "--out", missing},
		"--noise is given without":   {"library", "--env", "stoker/Sizing-v2", "--noise", "0.2", "--out", missing},
		"is no policy but a search":  {"library", "--env", "stoker/Sizing-v2", "--policy", "random-search", "--out", missing},
		`no policy "nobody"`:         {"library", "--env", "stoker/Sizing-v2", "--policy", "nobody", "--out", missing},
		"none.csv":                   {"library", "show", missing},
	} {
		if code, _, errs := stoker(a...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("stoker %s: exit %d: %s, want %q", strings.Join(a, " "), code, errs, want)
		}
	}
	several := []string{"library", "--env", "stoker/Sizing-v3", "--set", "env.workflows=[parallel, branch]", "--set",
		"env.features=described", "--set", "env.windows=2", "--rows", "2", "--out", missing}
	code, _, errs = stoker(several...)
	if code != exitFailed || !strings.Contains(errs, "several workflows side by side, want one") {
		t.Errorf("several workflows: exit %d: %s", code, errs)
	}
	if code, _, errs := stoker(append(several, "--workflow", "branch", "--users", "10")...); code != exitDone {
		t.Errorf("one of several workflows: exit %d: %s", code, errs)
	}
	code, _, errs = stoker("library", "--env", "stoker/LQR-v1", "--out", missing+"2")
	if code != exitFailed || !strings.Contains(errs, "not of stoker/LQR-v1") {
		t.Errorf("another environment: exit %d: %s", code, errs)
	}
}
