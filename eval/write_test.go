package eval

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// evaluated is an evaluation that is written once; not to be changed.
type evaluated struct {
	once  sync.Once
	files map[string]string
	p     *Played
	s     *Summary
}

var everyFigure, smaller evaluated

// in writes the evaluation that a function makes into a folder of the test's own.
func (e *evaluated) in(t *testing.T, dir string, make func() (*Played, *Summary, []Curve)) (string, *Played, *Summary) {
	t.Helper()
	e.once.Do(func() {
		var curves []Curve
		e.p, e.s, curves = make()
		must.Do(t, Write(dir, e.p, e.s, curves))
		e.files = files(t, dir)
	})
	must.Do(t, os.MkdirAll(dir, 0o777))
	for name, text := range e.files {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	return dir, e.p, e.s
}

// written is an evaluation with every figure, in a folder of the test's own.
func written(t *testing.T) (string, *Played, *Summary) {
	t.Helper()
	return everyFigure.in(t, filepath.Join(t.TempDir(), "deep", "eval"), func() (*Played, *Summary, []Curve) {
		p := synthetic()
		return p, summarise(t, p), syntheticCurves()
	})
}

// writtenSmall is a smaller one.
func writtenSmall(t *testing.T) (string, *Played, *Summary) {
	t.Helper()
	return smaller.in(t, filepath.Join(t.TempDir(), "eval"), func() (*Played, *Summary, []Curve) { return small(t) })
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	list := must.Get(os.ReadDir(dir))(t)
	for _, e := range list {
		b := must.Get(os.ReadFile(filepath.Join(dir, e.Name())))(t)
		out[e.Name()] = string(b)
	}
	return out
}

// eval.json has the names that programs read, and no others take their place.
func TestSchema(t *testing.T) {
	dir, p, _ := written(t)
	var top map[string]json.RawMessage
	decode := func(b []byte, v any) {
		t.Helper()
		if err := json.Unmarshal(b, v); err != nil {
			t.Fatalf("%v in %s", err, b)
		}
	}
	keys := func(where string, b []byte, want ...string) map[string]json.RawMessage {
		t.Helper()
		var m map[string]json.RawMessage
		decode(b, &m)
		for _, k := range want {
			if _, ok := m[k]; !ok {
				t.Errorf("%s has no %q, only %v", where, k, slices.Sorted(maps.Keys(m)))
			}
		}
		return m
	}
	list := func(b []byte) (out []json.RawMessage) { decode(b, &out); return out }
	text := func(b []byte) (out string) { decode(b, &out); return out }
	b := must.Get(os.ReadFile(filepath.Join(dir, "eval.json")))(t)
	top = keys("eval.json", b, "env", "workload", "seeds", "metrics", "policies", "comparisons")
	if text(top["env"]) != p.Spec.ID {
		t.Errorf("env is %s", top["env"])
	}
	if len(list(top["seeds"])) != 20 {
		t.Errorf("seeds are %s", top["seeds"])
	}
	var metrics []string
	for _, m := range list(top["metrics"]) {
		m := keys("a metric", m, "name", "unit", "better")
		metrics = append(metrics, text(m["name"]))
		if b := text(m["better"]); b != "lower" && b != "higher" {
			t.Errorf("%s is better %q", m["name"], b)
		}
	}
	kinds := map[string]bool{}
	for _, p := range list(top["policies"]) {
		p := keys("a policy", p, "name", "kind", "metrics")
		kinds[text(p["kind"])] = true
		for name, e := range keys("a policy's metrics", p["metrics"], metrics...) {
			keys(name, e, "iqm", "lo", "hi")
		}
	}
	if !maps.Equal(kinds, map[string]bool{"learned": true, "heuristic": true, "oracle": true}) {
		t.Errorf("kinds %v", kinds)
	}
	verdicts := map[string]bool{}
	for _, c := range list(top["comparisons"]) {
		c := keys("a comparison", c, "a", "b", "metric", "difference", "lo", "hi", "p", "p_holm", "scope", "verdict")
		verdicts[text(c["verdict"])] = true
	}
	if !maps.Equal(verdicts, map[string]bool{"better": true, "worse": true, "undecided": true}) {
		t.Errorf("verdicts %v", verdicts)
	}
	if n := len(list(top["comparisons"])); n != 4*len(metrics) {
		t.Errorf("%d comparisons, want one per baseline and metric", n)
	}
}

// scores.csv has every raw score to the last bit, under the names that others read.
func TestScoresFile(t *testing.T) {
	dir, p, s := written(t)
	f := must.Get(os.Open(filepath.Join(dir, "scores.csv")))(t)
	defer f.Close()
	rows := must.Get(csv.NewReader(f).ReadAll())(t)
	if want := []string{"policy", "training_seed", "workload_seed", "metric", "value"}; !slices.Equal(rows[0], want) {
		t.Errorf("head %v, want %v", rows[0], want)
	}
	if want := 1 + 7*20*len(s.Metrics); len(rows) != want {
		t.Errorf("%d rows, want %d", len(rows), want)
	}
	want := p.Episodes[0][1][4].Info[0] // attmf's second training seed under the fifth workload
	i := slices.IndexFunc(rows, func(r []string) bool { return slices.Equal(r[:4], []string{"attmf", "2", "5", "cost"}) })
	if got, err := strconv.ParseFloat(rows[i][4], 64); err != nil || got != want {
		t.Errorf("value %v, %v, want %v", got, err, want)
	}
}

// Replot needs nothing but the data: the same figures come back, bit for bit, and the data stays as it is.
func TestReplot(t *testing.T) {
	dir, _, s := written(t)
	before := files(t, dir)
	if len(s.Figures) != 21 {
		t.Errorf("figures %v", s.Figures)
	}
	for _, f := range append([]string{"scatter.csv", "intervals.csv", "improvement.csv", "profile.csv"}, s.Figures...) {
		if _, ok := before[f]; !ok {
			t.Fatalf("there is no %s", f)
		}
		must.Do(t, os.Remove(filepath.Join(dir, f)))
	}
	back := must.Get(Replot(dir))(t)
	if !slices.Equal(back.Figures, s.Figures) {
		t.Errorf("figures %v, were %v", back.Figures, s.Figures)
	}
	after := files(t, dir)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] != before[name] {
			t.Errorf("%s has changed", name)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files, were %d", len(after), len(before))
	}
}

// Errors of damaged folders name the file.
func TestReplotErrors(t *testing.T) {
	dir, _, _ := writtenSmall(t)
	if _, err := Replot(t.TempDir()); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "is not an evaluation") {
		t.Errorf("an empty folder: %v", err)
	}
	for _, c := range []struct{ file, text, want string }{
		{"samples.csv", "", "samples.csv: is empty"},
		{"scores.csv", "a,b\n1\n", "scores.csv: record on line 2: wrong number of fields"},
		{"learning_curve.csv", "a,\"b\n", "learning_curve.csv: parse error on line 1"},
		{"eval.json", "{", "eval.json: unexpected end of JSON input"},
		{"eval.json", "{}", "was made by an older version, which kept no intervals of means: evaluate again"},
	} {
		old := must.Get(os.ReadFile(filepath.Join(dir, c.file)))(t)
		put := func(b []byte) {
			t.Helper()
			must.Do(t, os.WriteFile(filepath.Join(dir, c.file), b, 0o666))
		}
		put([]byte(c.text))
		if _, err := Replot(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.file, err, c.want)
		}
		put(old)
	}
}

// A folder that cannot be written fails with its name, and leaves no eval.json that would call it whole.
func TestUnwritable(t *testing.T) {
	p, s, _ := small(t)
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o666))
	if err := Write(filepath.Join(file, "eval"), p, s, nil); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("below a file: %v", err)
	}
	for _, name := range []string{"scores.csv", "scatter.csv", "intervals.png", "table.md"} {
		dir := t.TempDir()
		must.Do(t, os.WriteFile(filepath.Join(dir, SummaryFile), []byte("{}"), 0o666))
		must.Do(t, os.MkdirAll(filepath.Join(dir, name, "in the way"), 0o777))
		if err := Write(dir, p, s, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is a folder: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(dir, SummaryFile)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is a folder: there is an eval.json all the same: %v", name, err)
		}
	}
}

// An evaluation that fails midway leaves the old one as it was, and nothing unfinished.
func TestKeepsOld(t *testing.T) {
	dir, p, s := writtenSmall(t)
	old, broken := files(t, dir), *s
	broken.Metrics = append(slices.Clone(s.Metrics), Metric{Name: "nowhere"})
	if err := Write(dir, p, &broken, nil); err == nil {
		t.Error("no error, want one of a metric that was not measured")
	}
	if !maps.Equal(files(t, dir), old) {
		t.Error("the old evaluation was changed")
	}
}

// A new evaluation in an old one's folder leaves nothing of the old: neither figures nor data that it has not, nor a
// damaged eval.json, nor what one wrote that was killed.
func TestRewrite(t *testing.T) {
	dir, _, _ := writtenSmall(t)
	killed := filepath.Join(dir, ".writing-1")
	must.Do(t, os.MkdirAll(filepath.Join(killed, "figures"), 0o777))
	p := match(6, 1, 0.1)
	s := summary(t, p)
	must.Do(t, Write(dir, p, s, nil))
	if _, err := os.Stat(killed); err == nil {
		t.Errorf("%s is still there", killed)
	}
	for name := range files(t, dir) {
		for _, gone := range []string{
			"wait", "learning_curve", "over_time", "samples", "steps", "scatter",
		} {
			if strings.HasPrefix(name, gone) {
				t.Errorf("%s is still there", name)
			}
		}
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, SummaryFile), []byte("{"), 0o666))
	if err := Write(dir, p, s, nil); err != nil {
		t.Error(err)
	}
	// Names in a summary that lead out of the folder are not followed.
	outside := filepath.Join(filepath.Dir(dir), "kept")
	must.Do(t, os.WriteFile(outside, nil, 0o666))
	s.Figures = []string{"../kept"}
	b := must.Get(json.Marshal(s))(t)
	must.Do(t, os.WriteFile(filepath.Join(dir, SummaryFile), b, 0o666))
	must.Do(t, Write(dir, p, s, nil))
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}

// Of a distribution enough stays for its tail, and no more than there was.
func TestSampleRows(t *testing.T) {
	p := synthetic()
	rows := sampleRows(p)
	largest := slices.Max(p.Samples[0][0])
	var shares []float64
	for _, r := range rows[1:] {
		if r[0] != "attmf" {
			continue
		}
		share := must.Get(strconv.ParseFloat(r[3], 64))(t)
		shares = append(shares, share)
		if v, _ := strconv.ParseFloat(r[4], 64); share == 1 && v != largest {
			t.Errorf("the largest is %g, want %g", v, largest)
		}
	}
	// 20,000 samples: 0.99995 has one above it, 0.99999 none.
	if n := len(shares); n < 400 || !slices.IsSorted(shares) || shares[n-1] != 1 || shares[n-2] != 0.99995 {
		t.Errorf("%d shares up to %v", n, shares[n-3:])
	}
}
