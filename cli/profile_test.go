package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

const measuredRuns = `function,memory,ms
thumb,128,4000
thumb,256,2010
thumb,512,1000
thumb,1024,520
thumb,2048,510
`

func TestProfileFit(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "runs.csv")
	if err := os.WriteFile(file, []byte(measuredRuns), 0o666); err != nil {
		t.Fatal(err)
	}
	code, out, errs := stoker("profile", "fit", file, "--out", filepath.Join(dir, "out"))
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "laws", out, "thumb", "knee", "exponential", "left out", "wrote ")
	code, out, errs = stoker("profile", "fit", file, "--law", "knee", "--json")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var r struct {
		Functions []struct{ Laws []struct{ Form string } }
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Functions[0].Laws) != 1 || r.Functions[0].Laws[0].Form != "knee" {
		t.Errorf("JSON %v: %s", err, out)
	}
	for want, args := range map[string][]string{
		"no law \"cubic\"": {file, "--law", "cubic"},
		"no such file":     {filepath.Join(dir, "none.csv")},
		"too few":          {file, "--law", "knee", "--few", "2"},
	} {
		code, _, errs := stoker(append([]string{"profile", "fit"}, args...)...)
		if code != exitUsage {
			t.Errorf("%v: exit %d, want %d", args, code, exitUsage)
		}
		contains(t, "error", errs, want)
	}
}
