package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/shell"
)

// A run that stops until it is asked for more says how to go on; a step that it never reaches is refused.
func TestUntil(t *testing.T) {
	file, runs := config(t, brief), t.TempDir()
	run := filepath.Join(runs, "small-s1")
	for _, bad := range []string{"41", "0", "-2"} {
		code, _, errs := stoker("train", file, "--runs", runs, "--until", bad)
		if code != exitUsage {
			t.Errorf("--until %s: exit %d", bad, code)
		}
		contains(t, "refusal", errs, "--until is "+bad+", want ")
	}
	if code, _, errs := stoker("train", file, "--runs", runs, "--name", ""); code != exitUsage || !strings.Contains(errs, "--name is empty") {
		t.Errorf("no name: exit %d, %s", code, errs)
	}
	code, out, errs := stoker("train", file, "--runs", runs, "--until", "10")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "report", out, "trained 10 of 40 steps", "go on with: stoker resume "+shell.Quote(run))
	if _, out, errs = stoker("resume", run, "--until", "15"); errs == "" {
		t.Error("no progress")
	}
	contains(t, "report", out, "trained 16 of 40 steps")
	eval := []string{"eval", run, "--seeds", "1-2", "--no-frontier", "--force"}
	_, _, errs = stoker(eval...)
	contains(t, "evaluation", errs, run+" is not finished (paused); to finish it: stoker resume "+shell.Quote(run))
	_, out, _ = stoker("resume", run)
	contains(t, "report", out, "trained 40 steps")
	if _, _, errs = stoker(eval...); strings.Contains(errs, "not finished") {
		t.Errorf("a finished run: %s", errs)
	}
}
