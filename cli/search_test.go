package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A short search writes a file that an evaluation reads.
func TestSearch(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "rule.json")
	sets := []string{"--set", "env.windows=3", "--set", "env.warmup=1"}
	code, out, errs := stoker(append([]string{"search", "rule", "sizing/attmf", "--evaluations", "16", "--population", "8",
		"--episodes", "2", "--out", file}, sets...)...)
	if code != 0 || !strings.Contains(out, "33 numbers, 16 episodes") || !strings.Contains(out, "violated") ||
		!strings.Contains(errs, "generation 1 of 1") {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), `"baseline": "rule"`) {
		t.Fatalf("%s, %v", text, err)
	}
	code, out, errs = stoker(append([]string{"eval", "rule", "fixed", "--config", "sizing/attmf", "--seeds", "1-2", "--out",
		filepath.Join(dir, "compare"), "--set", "eval.resamples=100",
		"--set", "eval.baselines=[{name: rule, file: " + file + "}]"}, sets...)...)
	if code != 0 || !strings.Contains(out, "rule") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
}

func TestSearchWrong(t *testing.T) {
	for want, a := range map[string][]string{
		"fixed has no numbers to search for; autoscaler, rule, price-rule, linear have": {"fixed", "sizing/attmf"},
		"there is no policy \"rul\"":        {"rul", "sizing/attmf"},
		"want enough for a generation, 960": {"rule", "sizing/attmf", "--evaluations", "9"},
		"--out: nowhere is no folder":       {"rule", "sizing/attmf", "--out", "nowhere/x.json"},
		"--minutes is -1, want more than 0": {"rule", "sizing/attmf", "--minutes", "-1"},
		"CONFIG":                            {"rule"},
		"rule: acts in stoker/Sizing-v2":    {"rule", "classic/lqr"},
	} {
		if code, out, errs := stoker(append([]string{"search"}, a...)...); code == 0 || !strings.Contains(errs, want) {
			t.Errorf("%s: %d: %s%s", want, code, out, errs)
		}
	}
}
