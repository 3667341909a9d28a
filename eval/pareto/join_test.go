package pareto

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
