package suite

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/train"
)

func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range list {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(b)
	}
	return out
}

// The folder has every file, the same bytes for any number of workers, and suite.json the contract's fields.
func TestRun(t *testing.T) {
	var first map[string]string
	for _, workers := range []int{1, 3, 16} {
		dir := filepath.Join(t.TempDir(), "deep", "out")
		var told atomic.Int32
		o := Options{Workers: workers, Progress: func(stage string, done, all int) {
			told.Add(1)
			if done < 1 || done > all || stage == "" {
				t.Errorf("%s: %d of %d", stage, done, all)
			}
		}}
		res, err := Run(t.Context(), toy(), o, dir, Made{"v1", "abc"})
		if err != nil {
			t.Fatal(err)
		}
		if n := told.Load(); n != 3*12+50 {
			t.Errorf("progress was told %d times, want once for each part", n)
		}
		got := read(t, dir)
		if first == nil {
			first = got
			checkFolder(t, res, got)
		}
		if len(got) != len(first) {
			t.Errorf("%d workers leave %d files, one leaves %d", workers, len(got), len(first))
		}
		for name, text := range first {
			if got[name] != text {
				t.Errorf("%s differs between %d workers and one", name, workers)
			}
		}
	}
}

func checkFolder(t *testing.T, res *Result, files map[string]string) {
	t.Helper()
	for _, name := range []string{"suite.json", "suite.md", "rows.csv", "cost.png", "cost.csv", "squares.csv"} {
		if files[name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
	var raw struct {
		Suite, Command string
		Rows           []map[string]any
		Comparisons    []map[string]any
		Figures        []string
	}
	if err := json.Unmarshal([]byte(files["suite.json"]), &raw); err != nil {
		t.Fatal(err)
	}
	if raw.Suite != "toy" || raw.Command != "stoker suite toy --seeds 1-12" || !slices.Equal(raw.Figures, []string{"cost.png"}) {
		t.Errorf("suite.json says %+v", raw)
	}
	for _, key := range []string{"figure", "quantity", "unit", "paper", "ours", "lo", "hi", "ratio", "note"} {
		if _, ok := raw.Rows[0][key]; !ok {
			t.Errorf("a row has no %s: %v", key, raw.Rows[0])
		}
	}
	if r := raw.Rows[0]; math.Abs(r["ratio"].(float64)-r["ours"].(float64)/2) > 1e-12 {
		t.Errorf("ratio %v of %v over 2", r["ratio"], r["ours"])
	}
	if last := raw.Rows[3]; last["paper"] != nil || last["ratio"] != nil || last["lo"] != nil || last["ours"] != 2401.0 {
		t.Errorf("a row without the paper's value is %v", last)
	}
	if len(raw.Comparisons) != 2 || raw.Comparisons[1]["verdict"] != eval.Better || raw.Comparisons[1]["setting"] != "as it is" {
		t.Errorf("comparisons are %v", raw.Comparisons)
	}
	if want := "n,square (m²),square lo,square hi\n2,4,,\n3,9,8,10\n"; files["squares.csv"] != want {
		t.Errorf("squares.csv is %q, want %q", files["squares.csv"], want)
	}
	for _, want := range []string{"`stoker suite toy --seeds 1-12`", "![cost](cost.png)", `a note \| with a bar`, "**holds**", "| 3 | 9.0 (8.0 to 10.0) |", "- 12 seeds", "| **better** |"} {
		if !strings.Contains(files["suite.md"], want) {
			t.Errorf("suite.md has no %q:\n%s", want, files["suite.md"])
		}
	}
	text := Text(res)
	for _, want := range []string{"toy: a regulator; workload seeds 1-12", "strong is better than", "the paper  strong steers better", "note: 12 seeds", "2,401"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table has no %q:\n%s", want, text)
		}
	}
}

// What is in the way is refused before anything is played; an earlier result goes, whatever lies beside it stays.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	o := Options{Quick: true, Workers: 2}
	run := func(s Suite) error {
		_, err := Run(t.Context(), s, o, dir, Made{})
		return err
	}
	never := toy()
	never.Run = func(context.Context, Options, *Report) error {
		t.Error("it played before it looked at the folder")
		return nil
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	put("thesis.tex", "years of work")
	refused := func(want string) {
		t.Helper()
		if err := run(never); err == nil || !errors.Is(err, train.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want a refusal with %q", err, want)
		}
	}
	refused("holds other things")
	put("suite.json", `{"suite": "other"}`)
	refused("the result of suite other, not of toy")
	put("suite.json", `{`)
	refused("not a suite's result")
	put("suite.json", `{"rows": []}`)
	refused("names no suite")
	put("suite.json", `{"suite": "toy", "tables": ["old.csv", "../outside.csv"], "figures": ["old_figure.png"]}`)
	put("old.csv", "1")
	put("old_figure.png", "1")
	put("old_figure.csv", "1")
	if err := run(toy()); err != nil {
		t.Fatal(err)
	}
	got := read(t, dir)
	if got["thesis.tex"] != "years of work" || got["squares.csv"] == "" {
		t.Errorf("the folder has %d files", len(got))
	}
	for _, name := range []string{"old.csv", "old_figure.png", "old_figure.csv", markFile} {
		if _, ok := got[name]; ok {
			t.Errorf("%s is left", name)
		}
	}
	// What a crash left in the midst of writing can be written again.
	if err := os.Remove(filepath.Join(dir, ResultFile)); err != nil {
		t.Fatal(err)
	}
	refused("holds other things")
	put(markFile, "toy")
	if err := run(toy()); err != nil {
		t.Error(err)
	}
	if err := Free(filepath.Join(dir, "thesis.tex"), "toy"); err == nil || !errors.Is(err, train.ErrUsage) {
		t.Errorf("a file in the folder's place: %v", err)
	}
	quick, err := Read(dir)
	if err != nil || len(quick.Seeds) != 3 || quick.Command != "stoker suite toy --quick --seeds 1-3" {
		t.Errorf("%+v, %v", quick, err)
	}
}

// A failed or stopped run leaves nothing.
func TestNothingIsLeft(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	for name, c := range map[string]struct {
		run  func(context.Context, Options, *Report) error
		want string
	}{
		"failed": {func(context.Context, Options, *Report) error { return errors.New("no luck") }, "suite toy: no luck"},
		"stopped": {func(ctx context.Context, o Options, _ *Report) error {
			return Each(ctx, &o, "stage", 1000, func(i int) error {
				if i == 3 {
					cancel(cause)
				}
				return nil
			})
		}, "enough"},
		"report": {func(_ context.Context, _ Options, r *Report) error { r.Row(Row{}); return nil }, "figure or quantity is missing"},
	} {
		s, dir := toy(), filepath.Join(t.TempDir(), "out")
		s.Run = c.run
		within := t.Context()
		if name == "stopped" {
			within = ctx
		}
		_, err := Run(within, s, Options{Workers: 2}, dir, Made{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if name == "stopped" && !errors.Is(err, cause) {
			t.Errorf("%s: %v, want the cause", name, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the folder is there", name)
		}
	}
	for want, s := range map[string]Suite{
		"want lower-case letters": {Name: "Toy 1"}, "Doc, Paper or Run": {Name: "toy"},
		"0 quick ones": {Name: "toy", Doc: "d", Paper: "p", Seeds: 1, Run: runToy},
	} {
		if _, err := Run(t.Context(), s, Options{}, t.TempDir(), Made{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Each wrong entry of a report is named.
func TestReportErrors(t *testing.T) {
	nan := math.NaN()
	panel := &chart.Figure{Panels: []*chart.Panel{chart.NewPanel("", "", "")}}
	for want, add := range map[string]func(*Report){
		"row 0 has 1 cells under 2": func(r *Report) {
			r.Table(Table{Name: "t", Columns: []Column{{Name: "a"}, {Name: "b"}}, Rows: [][]any{{1}}})
		},
		"a is a []int, want":          func(r *Report) { r.Table(Table{Name: "t", Columns: []Column{{Name: "a"}}, Rows: [][]any{{[]int{1}}}}) },
		"table t has no columns":      func(r *Report) { r.Table(Table{Name: "t"}) },
		`"../t" is no name of a file`: func(r *Report) { r.Table(Table{Name: "../t", Columns: []Column{{Name: "a"}}}) },
		"are called t": func(r *Report) {
			r.Table(Table{Name: "t", Columns: []Column{{Name: "a"}}})
			r.Figure(Figure{Name: "t", Chart: panel, Columns: []Column{{Name: "a"}}})
		},
		`verdict "perhaps", want holds`: func(r *Report) { r.Claim(Claim{Claim: "c", Verdict: "perhaps"}) },
		"an estimate of no scores":      func(r *Report) { r.Measured(Row{Figure: "1", Quantity: "q"}, nil) },
		"row 0 has 1 scores, want 2":    func(r *Report) { r.Compare("s", eval.Metric{}, Scored{Name: "a", Scores: stats.Scores{{1}}}) },
		"figure f has no columns":       func(r *Report) { r.Figure(Figure{Name: "f", Chart: panel}) },
	} {
		r := newReport([]uint64{1, 2})
		if add(r); r.err == nil || !strings.Contains(r.err.Error(), want) {
			t.Errorf("%v, want %q", r.err, want)
		}
	}
	r := newReport([]uint64{1, 2})
	r.Figure(Figure{Name: "empty", Chart: &chart.Figure{}})
	r.Measured(Row{Figure: "1", Quantity: "q"}, stats.Scores{{nan, 1}})
	if r.err != nil || len(r.figures) != 0 {
		t.Errorf("a figure without panels, and scores that are missing: %v", r.err)
	}
	if b, err := json.Marshal(r.result.Rows); err != nil || !strings.Contains(string(b), `"ours":null`) {
		t.Errorf("%s, %v", b, err)
	}
}

// Comparisons point the right way, and say of what they hold.
func TestCompare(t *testing.T) {
	seeds := make([]uint64, 20)
	low, high := make([]float64, 20), make([]float64, 20)
	for i := range seeds {
		seeds[i], low[i], high[i] = uint64(i), 1+float64(i%5), 2+float64(i%5)+0.1*float64(i%3)
	}
	for better, want := range map[envs.Better]string{envs.Lower: eval.Better, envs.Higher: eval.Worse, envs.Neither: eval.Undecided} {
		r := newReport(seeds)
		out := r.Compare("s", eval.Metric{Name: "m", Better: better}, Scored{Name: "a", Scores: stats.Scores{low}}, Scored{Name: "b", Kind: "learned", Scores: stats.Scores{high}}, Scored{Name: "c", Scores: stats.Scores{low}})
		if r.err != nil || len(out) != 2 || out[0].Verdict != want || out[1].Verdict != eval.Undecided {
			t.Errorf("%q is better: %+v, %v", better, out, r.err)
		}
		if out[0].Scope != "one checkpoint of b" || out[1].Scope != "these policies" || out[0].Difference >= 0 {
			t.Errorf("scopes %q and %q, difference %v", out[0].Scope, out[1].Scope, out[0].Difference)
		}
	}
}

// Of several failures the first in order is told, whoever came first.
func TestEach(t *testing.T) {
	for range 20 {
		err := Each(t.Context(), &Options{Workers: 4}, "stage", 100, func(i int) error {
			if i >= 3 && i < 7 {
				return errors.New(string(rune('a' + i)))
			}
			return nil
		})
		if err == nil || err.Error() != "d" {
			t.Fatalf("%v, want d", err)
		}
	}
	if err := Each(t.Context(), &Options{}, "stage", 0, nil); err != nil {
		t.Error(err)
	}
}

// What cannot be played is an error that says where.
func TestPlayErrors(t *testing.T) {
	o := &Options{Workers: 2}
	if _, err := Play(t.Context(), o, Plan{Stage: "none"}); err == nil || !strings.Contains(err.Error(), "none: 0 entries") {
		t.Error(err)
	}
	bad := steer("bad", 1)
	bad.NewEnv = func() (envs.Env, error) { return nil, errors.New("no such world") }
	if _, err := Play(t.Context(), o, Plan{Stage: "x", Entries: []Entry{steer("good", 1), bad}, Seeds: []uint64{1}}); err == nil || !strings.Contains(err.Error(), "x: no such world") {
		t.Error(err)
	}
	g, err := Play(t.Context(), o, Plan{Stage: "x", Entries: []Entry{steer("good", 1)}, Seeds: []uint64{1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		entry    int
		quantity string
		want     string
	}{{0, "coat", "coat"}, {1, "cost", "entry 1 of 1"}, {0, "cost", "set Plan.Steps"}} {
		if _, err := g.Series(c.entry, c.quantity); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if _, err := g.Scores(0, "coat"); err == nil || !strings.Contains(err.Error(), "good: ") {
		t.Errorf("a quantity that there is not: %v", err)
	}
	if s, err := g.Scores(0, eval.ReturnMetric.Name); err != nil || len(s) != 1 {
		t.Errorf("the return: %v, %v", s, err)
	}
}

func TestNumbers(t *testing.T) {
	nan := math.NaN()
	for want, e := range map[string]Estimate{
		"671,000 (660,000 to 682,000)": {671234, 660100, 682300}, "0.162 (0.150 to 0.173)": {0.1617, 0.1502, 0.1731},
		"−4.0 (−5.5 to 0.0)": {-4.01, -5.52, -0.001}, "1,234": {1234.4, nan, nan}, "0.001235": {0.00123456, nan, nan}, "n/a": {nan, 1, 2}, "0": {0, nan, nan},
	} {
		if got := e.String(); got != want {
			t.Errorf("%v is %q, want %q", e, got, want)
		}
	}
	for want, x := range map[string]float64{"670,000": 6.7e5, "52.27": 52.2727, "1.5": 1.5, "10,550": 10550, "−0.25": -0.25, "0": 0} {
		if got := plain(x); got != want {
			t.Errorf("%v is %q, want %q", x, got, want)
		}
	}
	if got := ranges([]uint64{1, 2, 3, 7, 9, 10}); got != "1-3,7,9-10" {
		t.Errorf("seeds are %s", got)
	}
	if b := Band([][]float64{{1, 2, 3}, {3, 4}}); len(b) != 2 || b[0].At != 2 || !(b[0].Lo < 2 && b[0].Hi > 2) || Band(nil) != nil {
		t.Errorf("band %v", b)
	}
}
