package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/pareto"
	"github.com/stoker-rl/stoker/internal/must"
)

// Runs are compared from folders and patterns, over steps and time; what is drawn is said beside the files' names.
func TestPlot(t *testing.T) {
	runs := t.TempDir()
	if code, _, errs := stoker("train", config(t, brief), "--runs", runs, "--seeds", "1-2", "--name",
		"a"); code != exitDone {
		t.Fatal(errs)
	}
	out := filepath.Join(runs, "curves")
	code, files, notes := stoker("plot", filepath.Join(runs, "a-*"), "--metric", "rollout/cost,time/fps", "--x",
		"time", "--smooth", "0.5", "--name", "both", "--out", out)
	if code != exitDone {
		t.Fatal(notes)
	}
	contains(t, "notes", notes, "small: 2 runs")
	for _, name := range strings.Split(strings.TrimSpace(files), "\n") {
		if _, err := os.Stat(name); err != nil || !strings.HasPrefix(name, filepath.Join(out, "both")) {
			t.Errorf("file %s: %v", name, err)
		}
	}
	if code, _, errs := stoker("eval", filepath.Join(runs, "a-s1"), "--out",
		filepath.Join(runs, "eval")); code != exitDone {
		t.Fatal(errs)
	}
	evaluation := filepath.Join(runs, "eval")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"plot", runs}, "holds 2 runs: name some, or all of them as " + filepath.Join(runs, "*")},
		{[]string{"plot", filepath.Join(runs, "b*")}, "no run folder matches"},
		{[]string{"plot", filepath.Join(runs, "a-s1"), "--x", "days"}, `--x is "days", want steps or time`},
		{[]string{"plot", filepath.Join(runs, "a-s1"), evaluation},
			evaluation + " is an evaluation: draw its figures alone"},
		{[]string{"plot", evaluation, "--smooth", "0.5"}, "--smooth is for runs"},
		{[]string{"power", runs}, "is not an evaluation"},
		{[]string{"power", evaluation, "--baselines", "2"}, "--baselines is for a table without an evaluation"},
		{[]string{"power", evaluation, "--metric", "price"}, `metric "price" is not among those of`},
		{[]string{"power", "--metric", "price"}, "--metric is one of an evaluation"},
		{[]string{"power", "--trials", "1"}, `--trials is "1", want a whole number of at least 100`},
		{[]string{"power", "--baselines", "0"}, `--baselines is "0", want a whole number of at least 1`},
		{[]string{"power", "--workloads", "0"}, `--workloads is "0", want whole numbers of at least 1`},
	} {
		if code, _, errs := stoker(c.args...); code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("stoker %s: exit %d, %s, want %q", strings.Join(c.args, " "), code, errs, c.want)
		}
	}
	if code, _, errs := stoker("plot", evaluation); code != exitDone {
		t.Error(errs)
	}
	if code, _, errs := stoker("plot", filepath.Join(runs, "a-s1"), "--metric", "rollout/cst"); code != exitUsage ||
		!strings.Contains(errs, "did you mean rollout/cost?") {
		t.Errorf("a wrong metric: exit %d, %s", code, errs)
	}
}

// Power rises with the difference and with seeds; JSON has every number.
func TestPower(t *testing.T) {
	code, out, errs := stoker("power", "--effect", "0,1", "--workloads", "10,40", "--baselines", "1", "--json")
	if code != exitDone {
		t.Fatal(errs)
	}
	rows := decode[[]eval.PowerRow](t, out)
	if len(rows) != 4 || rows[0].Power > 0.12 || rows[1].Power < rows[0].Power || rows[3].Power < 0.95 ||
		rows[3].WorkloadSeeds != 40 ||
		rows[3].Unit != "deviations" {
		t.Errorf("rows %+v", rows)
	}
	code, out, _ = stoker("power", "--training", "2,3", "--workloads", "5", "--effect", "1", "--trials", "100")
	if code != exitDone || strings.Count(out, "\n") != 4 {
		t.Errorf("exit %d: %s", code, out)
	}
	contains(t, "table", out, "training seeds", "workload seeds", "in deviations between workloads")
}

// Frontiers of two workflows are drawn side by side, and their mean ratio is said.
func TestFrontierPanels(t *testing.T) {
	dir := t.TempDir()
	words := []string{"frontier", "panels"}
	for _, name := range []string{"light", "heavy"} {
		play := func(price float64) []pareto.Point {
			return []pareto.Point{{Setting: "1", Price: [][]float64{{price, price}}, Violated: [][]float64{{0.05, 0.05}}}}
		}
		families := []pareto.Family{{Name: "learned", Points: play(2)}, {Name: "rule", Points: play(3)}}
		r := must.Get(pareto.Analyse(families, []float64{0.05}, 100, 1))(t)
		r.Objective, r.Unit, r.Limit = "price", "USD/h", "violated"
		words = append(words, filepath.Join(dir, name))
		must.Get(pareto.Write(filepath.Join(dir, name), r))(t)
	}
	words = append(words, "--out", filepath.Join(dir, "all"))
	code, out, errs := stoker(words...)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "the table", strings.Join(strings.Fields(out), " "), "0.05 rule 1.500 (1.500 to 1.500) 2 2 0", "frontiers_means.csv")
	_, out, _ = stoker(append(words, "--json")...)
	if means := decode[[]pareto.Mean](t, out); len(means) != 1 || means[0].Counted != 2 {
		t.Errorf("means are %+v", means)
	}
}
