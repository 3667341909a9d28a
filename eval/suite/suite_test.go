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
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train"
)

func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	list := must.Get(os.ReadDir(dir))(t)
	out := map[string]string{}
	for _, e := range list {
		b := must.Get(os.ReadFile(filepath.Join(dir, e.Name())))(t)
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
		res := must.Get(Run(t.Context(), toy(), o, dir, Made{"v1", "abc"}))(t)
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
	for _, name := range []string{"suite.json", "suite.md", "rows.csv", "cost.png", "cost.pdf", "cost.csv", "squares.csv"} {
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
	must.Do(t, json.Unmarshal([]byte(files["suite.json"]), &raw))
	if raw.Suite != "toy" || raw.Command != "stoker suite toy --seeds 1-12" ||
		!slices.Equal(raw.Figures, []string{"cost.png"}) {
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
	if len(raw.Comparisons) != 2 || raw.Comparisons[1]["verdict"] != eval.Better ||
		raw.Comparisons[1]["setting"] != "as it is" {
		t.Errorf("comparisons are %v", raw.Comparisons)
	}
	if want := "n,square (m²),square lo,square hi\n2,4,,\n3,9,8,10\n"; files["squares.csv"] != want {
		t.Errorf("squares.csv is %q, want %q", files["squares.csv"], want)
	}
	for _, want := range []string{
		"`stoker suite toy --seeds 1-12`", "![cost](cost.png)", `a note \| with a bar`, "**holds**",
		"| 3 | 9.0 (8.0 to 10.0) |", "- 12 seeds", "| **better** |",
	} {
		if !strings.Contains(files["suite.md"], want) {
			t.Errorf("suite.md has no %q:\n%s", want, files["suite.md"])
		}
	}
	text := Text(res)
	for _, want := range []string{
		"toy: a regulator; workload seeds 1-12", "strong is better than", "the paper  strong steers better",
		"note: 12 seeds", "2,401",
	} {
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
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
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
	must.Do(t, run(toy()))
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
	must.Do(t, os.Remove(filepath.Join(dir, ResultFile)))
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
			return o.Each(ctx, "stage", 1000, func(i int) error {
				if i == 3 {
					cancel(cause)
				}
				return nil
			})
		}, "enough"},
		"quantity": {func(ctx context.Context, o Options, r *Report) error {
			g, err := o.Play(ctx, "x", eval.Request{Contestants: []eval.Contestant{steer("good", 1)}, Seeds: o.Seeds})
			if err != nil {
				return err
			}
			r.Measured(Row{Figure: "1", Quantity: "coats"}, r.Scores(g, 0, "coat", 1))
			r.Series(g, 0, "cost")
			return nil
		}, "report: good: coat: stoker/LQR-v1 reports no quantity \"coat\"\ngood: cost by step"},
		"report": {func(_ context.Context, _ Options, r *Report) error { r.Row(Row{}); return nil },
			"figure or quantity is missing"},
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
			r.Table(report.Table{Name: "t", Columns: report.Head("a", "b"), Rows: [][]any{{1}}})
		},
		"t: row 0, a is a []int, want": func(r *Report) {
			r.Table(report.Table{Name: "t", Columns: report.Head("a"), Rows: [][]any{{[]int{1}}}})
		},
		"table t has no columns":      func(r *Report) { r.Table(report.Table{Name: "t"}) },
		`"../t" is no name of a file`: func(r *Report) { r.Table(report.Table{Name: "../t", Columns: report.Head("a")}) },
		"are called t": func(r *Report) {
			r.Table(report.Table{Name: "t", Columns: report.Head("a")})
			r.Figure(report.Figure{Name: "t", Chart: panel, Columns: report.Head("a")})
		},
		`verdict "perhaps", want holds`: func(r *Report) { r.Claim(Claim{Claim: "c", Verdict: "perhaps"}) },
		"an estimate of no scores":      func(r *Report) { r.Measured(Row{Figure: "1", Quantity: "q"}, nil) },
		"row 0 has 1 scores, want 2": func(r *Report) {
			r.Compare("s", eval.Metric{},
				eval.Scored{Name: "a", Scores: stats.Scores{{1}}})
		},
		"figure f has no columns": func(r *Report) { r.Figure(report.Figure{Name: "f", Chart: panel}) },
	} {
		r := newReport([]uint64{1, 2})
		if add(r); r.err == nil || !strings.Contains(r.err.Error(), want) {
			t.Errorf("%v, want %q", r.err, want)
		}
	}
	r := newReport([]uint64{1, 2})
	r.Figure(report.Figure{Name: "empty", Chart: &chart.Figure{}})
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
	for better, want := range map[envs.Better]string{
		envs.Lower: eval.Better, envs.Higher: eval.Worse, envs.Neither: eval.Undecided,
	} {
		r := newReport(seeds)
		out := r.Compare("s", eval.Metric{Name: "m", Better: better}, eval.Scored{Name: "a", Scores: stats.Scores{low}},
			eval.Scored{Name: "b", Kind: "learned", Scores: stats.Scores{high}},
			eval.Scored{Name: "c", Scores: stats.Scores{low}})
		if r.err != nil || len(out) != 2 || out[0].Verdict != want || out[1].Verdict != eval.Undecided {
			t.Errorf("%q is better: %+v, %v", better, out, r.err)
		}
		if out[0].Scope != "one checkpoint of b" || out[1].Scope != "these policies" || out[0].Difference >= 0 {
			t.Errorf("scopes %q and %q, difference %v", out[0].Scope, out[1].Scope, out[0].Difference)
		}
	}
}

// What cannot be played is an error that names the stage.
func TestPlayErrors(t *testing.T) {
	o := &Options{Workers: 2}
	bad := steer("bad", 1)
	bad.NewEnv = func() (envs.Env, error) { return nil, errors.New("no such world") }
	for want, list := range map[string][]eval.Contestant{
		"x: eval: 0 contestants": nil, "x: no such world": {steer("good", 1), bad},
	} {
		_, err := o.Play(t.Context(), "x", eval.Request{Contestants: list, Seeds: []uint64{1}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Each rule says holds, does not hold or not decided by where the interval lies.
func TestRules(t *testing.T) {
	nan := math.NaN()
	type list [][2]float64 // intervals
	for name, c := range map[string]struct {
		rule                  Rule
		holds, fails, unknown list
	}{
		"under 5":   {Under(5), list{{3, 4.9}}, list{{5.1, 6}}, list{{4, 6}}},
		"over 12":   {Over(12), list{{12.5, 14}}, list{{9, 11}}, list{{11, 14}}},
		"inside":    {Inside(0.9, 1.1), list{{0.95, 1.05}}, list{{1.2, 3}, {-1, 0.8}}, list{{0.8, 1}}},
		"8 to 9":    {Meets(8, 9), list{{8.9, 9.5}, {9, 9}}, list{{9.1, 9.5}, {7, 7.9}}, nil},
		"near 8":    {Near(8, 2), list{{6, 6}, {10, 10}}, list{{5.9, 5.9}}, nil},
		"about −35": {Reaches(-35), list{{-40, -36}, {-36, -10}}, list{{-30, -10}, {5, 9}}, list{{-50, 3}}},
		"about 28":  {Reaches(28), list{{12, 40}}, list{{1, 20}, {nan, nan}}, list{{-1, 40}}},
	} {
		for want, list := range map[string]list{Holds: c.holds, Fails: c.fails, Unknown: c.unknown} {
			for _, x := range list {
				e := report.Estimate{At: (x[0] + x[1]) / 2, Low: x[0], High: x[1]}
				if got := c.rule(e); got != want {
					t.Errorf("%s, measured %v: %s, want %s", name, e, got, want)
				}
				alone := report.Estimate{At: x[0], Low: nan, High: nan}
				if x[0] == x[1] && c.rule(alone) != want {
					t.Errorf("%s, measured %v without an interval: want %s", name, x[0], want)
				}
			}
		}
	}
	for _, x := range []float64{20, 73.6} { // one workload seed
		if got := Reaches(28)(report.Point(x)); got != Unknown {
			t.Errorf("an effect of %g without an interval: %s, want %s", x, got, Unknown)
		}
	}
	for better, want := range map[string]string{eval.Better: Holds, eval.Worse: Fails, eval.Undecided: Unknown} {
		if got := Of(better); got != want {
			t.Errorf("%s: %s, want %s", better, got, want)
		}
	}
}

// A page begins with what the suite is about, in any alphabet.
func TestMarkdown(t *testing.T) {
	for doc, want := range map[string]string{
		"a regulator": "A regulator. The paper: Riccati (1724).", "étude of a regulator": "Étude of a regulator. The paper", "": "# toy\n\n. The paper",
	} {
		if got := Markdown(&Result{Suite: "toy", Doc: doc, Paper: "Riccati (1724)"}, nil, nil); !strings.Contains(got, want) {
			t.Errorf("about %q:\n%s\nwant %q", doc, got, want)
		}
	}
}

// A statement holds where all of its parts do, falls with any but a minor one, depends where readings or minor parts
// differ, and says so where nothing was measured.
func TestJudge(t *testing.T) {
	part := func(minor bool, findings ...Finding) Part[int] {
		return Part[int]{Minor: minor, Lead: "found ", Measure: func(int, Rule) []Finding { return findings }}
	}
	yes, no, open := Finding{Text: "a", Verdict: Holds}, Finding{Text: "b", Verdict: Fails}, Finding{Verdict: Unknown}
	other := Finding{Verdict: Fails, Reading: "the other"}
	for want, parts := range map[string][]Part[int]{
		"found a: holds": {part(false, yes)}, "found afound a: holds": {part(false, yes), part(true, yes)},
		"found a; b: does not hold": {part(false, yes, no)}, "found a: not decided": {part(false, yes, open)},
		"found afound b: depends":       {part(false, yes), part(true, no)},
		"found bfound b: does not hold": {part(false, no), part(true, no)},
		"found a: depends":              {part(false, yes, other)}, "nobody played: not decided": {part(false)},
	} {
		r := newReport([]uint64{1})
		Judge(r, 0, []Statement[int]{{Claim: "c", Parts: parts, None: "nobody played"}})
		if c := r.result.Claims[0]; c.Found+": "+c.Verdict != want {
			t.Errorf("%s: %s, want %s", c.Found, c.Verdict, want)
		}
	}
}
