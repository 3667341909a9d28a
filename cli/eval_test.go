package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/internal/must"
)

// A sentence comes first, in the terminal and in eval.json. The same evaluation may be made again; one with other
// settings is refused with what differs, unless it is forced or goes elsewhere.
func TestEvaluations(t *testing.T) {
	run := trained(t)
	code, out, errs := stoker("eval", run)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	s := must.Get(eval.ReadSummary(filepath.Join(run, "eval")))(t)
	if s.Summary == "" || !strings.HasPrefix(strings.ReplaceAll(out, "\n", " "), s.Summary+". ") || s.Objective != "return" || s.SettingsDigest == "" {
		t.Errorf("summary %q, objective %q, the output begins %.200q", s.Summary, s.Objective, out)
	}
	if code, _, errs := stoker("eval", run); code != exitDone {
		t.Errorf("the same again: exit %d: %s", code, errs)
	}
	before := must.Get(os.ReadFile(filepath.Join(run, "eval", eval.SummaryFile)))(t)
	code, _, errs = stoker("eval", run, "--seeds", "1-4")
	contains(t, "another number of seeds", errs, "eval.seeds: 1-3 there, 1-4 now", "--out DIR", "--force")
	after, err := os.ReadFile(filepath.Join(run, "eval", eval.SummaryFile))
	if code != exitUsage || err != nil || string(after) != string(before) {
		t.Errorf("other settings: exit %d, %v; the file has changed: %v", code, err, string(after) != string(before))
	}
	if code, _, errs := stoker("eval", run, "--seeds", "1-4", "--out", filepath.Join(run, "other")); code != exitDone {
		t.Errorf("elsewhere: exit %d: %s", code, errs)
	}
	code, _, errs = stoker("eval", run, "--seeds", "1-4", "--force")
	contains(t, "by force", errs, "replaces ", "eval.seeds: 1-3 there, 1-4 now")
	if s, err := eval.ReadSummary(filepath.Join(run, "eval")); code != exitDone || err != nil || len(s.Seeds) != 4 {
		t.Errorf("by force: exit %d, %v", code, err)
	}
	for set, want := range map[string]string{
		"eval.objective=price":      `eval.objective: metric "price": stoker/LQR-v1 reports cost, return`,
		"eval.constraint=price":     `eval.constraint: metric "price"`,
		"eval.relative_tolerance=2": "eval.relative_tolerance",
	} {
		code, _, errs := stoker("eval", run, "--set", set, "--out", t.TempDir())
		if code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d, %s, want %q", set, code, errs, want)
		}
	}
}
