package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/must"
)

// The suites are listed; what is wrong with a call is named and costs nothing.
func TestSuites(t *testing.T) {
	code, out, errs := stoker("suite")
	if code != exitDone {
		t.Errorf("exit %d: %s", code, errs)
	}
	contains(t, "suite", out, "hops", "Figs. 2 to 4", "Huang", "stoker suite hops --quick")
	_, out, _ = stoker("suite", "--json")
	if list := decode[[]map[string]any](t, out); len(list) == 0 || list[0]["name"] != "hops" ||
		list[0]["paper"] == "" ||
		list[0]["seeds"] != 20.0 {
		t.Errorf("suites are %v", list)
	}
	full := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(full, "thesis.tex"), nil, 0o666))
	for want, a := range map[string][]string{
		`no suite "hop"; did you mean "hops"?`: {"suite", "hop"},
		"no suite is named":                    {"suite", "--quick"},
		`--seeds: "1-" is not a list`:          {"suite", "hops", "--seeds", "1-"},
		`--workers is "-1", want`:              {"suite", "hops", "--workers", "-1"},
		"--data is nowhere, want a":            {"suite", "hops", "--data", "nowhere"},
		"holds other things than a suite":      {"suite", "hops", "--out", full},
		"too many arguments":                   {"suite", "hops", "hops"},
	} {
		if code, _, errs := stoker(a...); code != exitUsage {
			t.Errorf("%v: exit %d: %s", a, code, errs)
		} else {
			contains(t, "refusal", errs, want)
		}
	}
}

// One seed is enough to see the paper's numbers beside ours; nothing is decided then. A second run takes the first
// one's place.
func TestSuite(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of work")
	}
	dir := filepath.Join(t.TempDir(), "out")
	code, out, errs := stoker("suite", "gnn-generalise", "--quick", "--seeds", "7", "--out", dir, "--json")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	res := decode[suite.Result](t, out)
	if res.Suite != "gnn-generalise" || !res.Quick || len(res.Seeds) != 1 || len(res.Rows) < 20 || len(res.Comparisons) < 50 ||
		res.Command != "stoker suite gnn-generalise --quick --seeds 7" {
		t.Errorf("it is %s, %v, with %d rows: %s", res.Suite, res.Seeds, len(res.Rows), res.Command)
	}
	for _, c := range res.Comparisons {
		if c.Verdict != "undecided" {
			t.Errorf("one seed decides on %s: %s is %s than %s", c.Setting, c.A, c.Verdict, c.B)
		}
	}
	for _, f := range append(append([]string{suite.ResultFile, suite.PageFile}, res.Figures...), res.Tables...) {
		if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
			t.Error(err)
		}
	}
}
