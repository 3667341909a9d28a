package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/internal/must"
)

// The share of the work is told once every policy has played an episode: before, the dearest one would make it fall.
func TestEvaluationProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs bytes.Buffer
		show := (&call{errs: &errs}).episodes()
		for _, p := range []eval.Progress{
			{Done: 118, All: 140, Work: 0.85},
			{Done: 122, All: 140, Work: 0.12, Left: 107 * time.Second, Known: true},
			{Done: 140, All: 140, Work: 1, Known: true},
		} {
			time.Sleep(10 * time.Second) // of the bubble
			show(p)
		}
		const want = "118 of 140 episodes  11.8 episodes/s  ETA after the first episode of every policy\n" +
			"122 of 140 episodes  12 % of the work  6.1 episodes/s  ETA 1m47s\n"
		if errs.String() != want {
			t.Errorf("%swant\n%s", &errs, want)
		}
	})
}

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
