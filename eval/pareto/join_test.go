package pareto

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/internal/must"
)

// Results that were written are read again and joined: every row of each, under its folder's name.
func TestPanels(t *testing.T) {
	dir := t.TempDir()
	var dirs []string
	for i, name := range []string{"light", "heavy"} {
		r := must.Get(Analyse([]Family{family("one", 1+float64(i), 10), family("other", 2, 10)}, []float64{0.01, 0.06}, 100, 1))(t)
		r.Objective, r.Unit, r.Limit = "price", "USD/h", "violated"
		dirs = append(dirs, filepath.Join(dir, name))
		must.Get(Write(dirs[i], r))(t)
	}
	results := must.Get(Load(dirs))(t)
	out := filepath.Join(dir, "out")
	files := must.Get(WritePanels(out, results, 2, 0.05))(t)
	for _, f := range files {
		if s, err := os.Stat(filepath.Join(out, f)); err != nil || s.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
	for _, kind := range []string{"points", "levels"} {
		joined := must.Get(os.ReadFile(filepath.Join(out, "frontiers_"+kind+".csv")))(t)
		var want []string
		for i, d := range dirs {
			own := must.Get(os.ReadFile(filepath.Join(d, "frontier_"+kind+".csv")))(t)
			lines := strings.Split(strings.TrimSpace(string(own)), "\n")
			if i == 0 {
				want = append(want, "panel,"+lines[0])
			}
			for _, l := range lines[1:] {
				want = append(want, filepath.Base(d)+","+l)
			}
		}
		if got := strings.TrimSpace(string(joined)); got != strings.Join(want, "\n") {
			t.Errorf("%s: got\n%s\nwant\n%s", kind, got, strings.Join(want, "\n"))
		}
	}
}

// The mean over folders is geometric, of those in which both families reach the level; the others are counted by what they
// lack.
func TestMeans(t *testing.T) {
	num := func(x float64) Number {
		return Number{report.Number(x), report.Number(x - 0.1), report.Number(x + 0.1)}
	}
	nan := Number{report.Number(math.NaN()), report.Number(math.NaN()), report.Number(math.NaN())}
	folder := func(first, other, ratio Number, below bool) Named {
		return Named{"f", &Result{Objective: "price", Limit: "violated", Points: []Row{{Family: "a"}}, Levels: []At{
			{Family: "a", Level: 0.05, Price: first, Ratio: num(1)},
			{Family: "b", Level: 0.05, Price: other, Ratio: ratio, RatioBelow: below},
		}}}
	}
	all := []Named{
		folder(num(1), num(2), num(2), false), folder(num(4), num(2), num(0.5), false), folder(num(2), num(8), num(4), true),
		folder(num(1), nan, nan, false), folder(nan, num(2), nan, false),
	}
	// The logarithms of 2, 1/2 and 4 have mean ln 2 / 3·2 and deviation √(7/3)·ln 2; t(0.975, 2) is 4.30265.
	mean := 2.0 / 3 * math.Ln2
	half := 4.30265 * math.Sqrt(7.0/3) * math.Ln2 / math.Sqrt(3)
	got := Means(all)
	if len(got) != 1 {
		t.Fatalf("%d means, want one: %+v", len(got), got)
	}
	m := got[0]
	for _, c := range []struct{ got, want float64 }{
		{float64(m.Ratio.Mean), math.Exp(mean)}, {float64(m.Ratio.Lo), math.Exp(mean - half)}, {float64(m.Ratio.Hi), math.Exp(mean + half)},
	} {
		if math.Abs(c.got/c.want-1) > 1e-5 {
			t.Errorf("%g, want %g", c.got, c.want)
		}
	}
	m.Ratio = Number{}
	if want := (Mean{Family: "b", Level: 0.05, Counted: 3, Unreached: 1, FirstUnreached: 1, Below: 1, Dearer: 2, Cheaper: 1}); m != want {
		t.Errorf("%+v, want %+v", m, want)
	}
	if text := MeansText(all[3:]); !strings.Contains(text, "n/a") || strings.Contains(text, "NaN") {
		t.Errorf("where no folder counts: %s", text)
	}
	other := folder(num(1), num(2), num(2), false)
	other.Points = []Row{{Family: "c"}}
	if text := MeansText([]Named{all[0], other}); !strings.Contains(text, "first family") {
		t.Errorf("other first families: %s", text)
	}
	if text := MeansText(all[:1]); strings.Contains(text, " to ") {
		t.Errorf("one folder has no interval: %s", text)
	}
}

func TestLoadErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		d := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(d, 0o777))
		must.Do(t, os.WriteFile(filepath.Join(d, "frontier.json"), []byte(text), 0o666))
		return d
	}
	point := `"points":[{"family":"a","setting":"b","violated":{"mean":0,"lo":0,"hi":0},"price":{"mean":1,"lo":1,"hi":1},"beaten":false}]`
	price := write("price", `{"objective":"price","unit":"USD/h","constraint":"violated",`+point+`}`)
	for want, dirs := range map[string][]string{
		"a folder of stoker frontier is wanted": {filepath.Join(dir, "none")},
		"has no points":                         {write("empty", `{}`)},
		"unexpected EOF":                        {write("cut", `{"env":`)},
		"unknown field":                         {write("other", `{"policies":[]}`)},
		"no panels of one figure":               {price, write("cost", `{"objective":"cost","constraint":"violated",`+point+`}`)},
	} {
		if _, err := Load(dirs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}
