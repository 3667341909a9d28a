package configs

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/internal/must"
)

const photos = `name: photos
workflow:
  nodes: [{name: resize}, {name: classify}]
  edges: [{from: resize, to: classify}]
accuracy: classify^0.5
functions:
  - name: resize
    memory: {from: 128, to: 3008, step: 192}
    variants:
      - law: {form: knee, a: 0.05, b: 400, k: 1769}
        cv: 0.1
  - name: classify
    memory: {sizes: [1024, 2048, 4096]}
    variants:
      - {name: small, accuracy: 0.7, law: {form: exponential, a: 0.5, b: 6.5, c: 0.00066}}
      - {name: large, accuracy: 0.77, law: {form: exponential, a: 2.1, b: 25, c: 0.00067}}
`

func TestReadApp(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "app.yaml")
	runs := "function,mb,seconds\nresize,128,4\nresize,512,1\nresize,1024,0.5\nresize,1769,0.4\n"
	text := strings.Replace(photos, "- law: {form: knee, a: 0.05, b: 400, k: 1769}", "- profiles: runs.csv", 1)
	for name, text := range map[string]string{"app.yaml": text, "runs.csv": runs} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	m, err := ReadApp(file)
	must.Do(t, err)
	if n := len(m.Options[0]) * len(m.Options[1]); n != 16*6 {
		t.Errorf("%d configurations, want 96", n)
	}
	if m, err = ReadApp("app3"); err != nil || m.NumFunctions() != 3 {
		t.Errorf("app3: %v", err)
	}
}

// The shipped files are the applications that Go programs get by name.
func TestShippedApps(t *testing.T) {
	if n := len(ShippedApps()); n != len(variants.Presets()) {
		t.Fatalf("%d shipped applications, want %d", n, len(variants.Presets()))
	}
	for _, name := range variants.Presets() {
		want := must.Get(ReadApp(name))(t)
		got := must.Get(ReadApp("configs/variants/" + name + ".yaml"))(t)
		if !reflect.DeepEqual(got.App, want.App) || !reflect.DeepEqual(got.Options, want.Options) {
			t.Errorf("the file of %s is\n%+v\nwant\n%+v", name, got.App, want.App)
		}
	}
}

// What measured runs can have wrong.
func TestProfileErrors(t *testing.T) {
	dir := t.TempDir()
	text := strings.Replace(photos, "law: {form: knee, a: 0.05, b: 400, k: 1769}", "profiles: runs.csv", 1)
	for name, c := range map[string]struct{ runs, law, want string }{
		"rise":      {"resize,128,1\nresize,512,2\n", "", "times rise with memory"},
		"few":       {"resize,128,2\nresize,512,1\n", ", law: {form: knee}", "2 memory sizes are too few for the knee law"},
		"function":  {"other,128,2\n", "", `functions[0].variants[0].profile is "resize", of which`},
		"number":    {"resize,128,fast\n", "", "line 2, column 3"},
		"both":      {"resize,128,2\n", ", law: {a: 1}", "has numbers beside profiles"},
		"no number": {"", "", "no measurements"},
	} {
		must.Do(t, os.WriteFile(filepath.Join(dir, "runs.csv"), []byte("function,mb,seconds\n"+c.runs), 0o600))
		app := strings.Replace(text, "- profiles: runs.csv\n        cv: 0.1", "- {profiles: runs.csv, cv: 0.1"+c.law+"}", 1)
		_, err := ParseApp(filepath.Join(dir, "app.yaml"), []byte(app))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "app.yaml:10: ") {
			t.Errorf("%s: the error is\n%v\nwant it to say %s at line 10", name, err, c.want)
		}
	}
}

func TestAppErrors(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"empty": {photos, "", "app.yaml: the file is empty"},
		"unknown key": {"accuracy: classify", "acuracy: classify",
			"app.yaml:5: unknown key acuracy; did you mean accuracy?"},
		"experiment": {photos, "name: a\nenv: {id: x}\n", "is an experiment"},
		"no variant law": {"- law: {form: knee, a: 0.05, b: 400, k: 1769}\n        cv: 0.1", "- cv: 0.1",
			"app.yaml:10: functions[0].variants[0].law is missing"},
		"no profile": {"law: {form: knee, a: 0.05, b: 400, k: 1769}", "profiles: no.csv",
			"app.yaml:10: functions[0].variants[0].profiles cannot be read"},
		"rising times": {"{form: knee, a: 0.05, b: 400, k: 1769}", "{form: table, mb: [128, 3008], seconds: [1, 2]}",
			"app.yaml:10: functions[0].variants[0].law gives times that rise with memory"},
		"knee without k": {", k: 1769", "", "app.yaml:10: functions[0].variants[0].law.k is 0"},
		"negative law":   {"a: 0.05", "a: -1", "app.yaml:10: functions[0].variants[0].law.a is -1"},
		"no price": {"accuracy: classify", "tariff: table\naccuracy: classify",
			"app.yaml:14: functions[1].memory has 4096 MB, for which the tariff table has no price"},
		"own prices": {"accuracy: classify", "tariff: own\naccuracy: classify", "app.yaml: prices are missing"},
		"negative price": {"accuracy: classify", "tariff: own\nprices: {gb_second: -1}\naccuracy: classify",
			"app.yaml:6: prices.gb_second is -1"},
		"tariff": {"accuracy: classify", "tariff: cheap\naccuracy: classify",
			`app.yaml:5: tariff is "cheap"`},
		"unknown name": {"classify^0.5", "clasify^0.5",
			`app.yaml:5: accuracy "clasify^0.5": unknown name clasify (1:1)`},
		"no accuracies": {"classify^0.5", "resize", `app.yaml:5: accuracy "resize": unknown name resize`},
		"falls": {"classify^0.5", "1 - classify",
			`app.yaml:5: accuracy "1 - classify" is not monotone: it is 0.3 for classify = 0.7`},
		"unbounded": {"classify^0.5", "1/(0.77 - classify)",
			`app.yaml:5: accuracy "1/(0.77 - classify)" is not bounded`},
		"no number":    {"classify^0.5", "classify > 0.5", `gives true, want a number`},
		"accuracy":     {"0.77", "1.77", "app.yaml:16: functions[1].variants[1].accuracy is 1.77"},
		"one accuracy": {"accuracy: 0.77, ", "", "app.yaml:16: functions[1].variants[1] has no accuracy"},
		"same variant": {"name: large", "name: small", `app.yaml:16: functions[1].variants[1].name is "small"`},
		"unknown function": {"- name: classify", "- name: classy",
			`app.yaml:12: functions[1].name is "classy", which the workflow does not run`},
		"function missing": {photos[strings.Index(photos, "  - name: classify"):], "",
			`app.yaml:7: functions has no "classify"`},
		"no sizes": {"    memory: {sizes: [1024, 2048, 4096]}\n", "",
			"app.yaml:12: functions[1].memory is missing"},
		"sizes": {"[1024, 2048, 4096]", "[1024, 1024]",
			"app.yaml:13: functions[1].memory has 1024 MB twice"},
		"grid": {"step: 192", "step: 0",
			"app.yaml:8: functions[0].memory goes from 128 to 3008 MB in steps of 0"},
		"workflow": {"to: classify}", "to: clasify}",
			`app.yaml:3: workflow "photos": edge 1 (resize -> clasify)`},
		"weights": {"accuracy: classify^0.5", "accuracy: weighted\nweights: {resize: 1}",
			`app.yaml:6: weights has function "resize", which has no accuracies`},
		"weights unwanted": {"accuracy: classify^0.5", "accuracy: min\nweights: {classify: 1}",
			"app.yaml:6: weights are read with weighted and geometric"},
		"weights sum": {"accuracy: classify^0.5", "accuracy: weighted\nweights: {classify: 0}",
			"app.yaml:6: weights sum to 0"},
		"cv":            {"cv: 0.1", "cv: -1", "app.yaml:11: functions[0].variants[0].cv is -1"},
		"function in A": {"classify^0.5", "A('resize')", `no function "resize" with accuracies, there is classify`},
		"text for a number": {"b: 400", "b: many",
			`app.yaml:10: functions[0].variants[0].law.b is "many", want a number`},
	} {
		text := strings.Replace(photos, c.old, c.new, 1)
		if text == photos {
			t.Errorf("%s: nothing was changed", name)
		}
		_, err := ParseApp("app.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is\n%v\nwant it to say\n%s", name, err, c.want)
		}
	}
}

func FuzzApp(f *testing.F) {
	f.Add([]byte(photos))
	f.Add([]byte("name: a\nworkflow: {nodes: [{name: f}]}\nfunctions: [{name: f, variants: [{law: {form: table, mb: [1], seconds: [1]}}], memory: {sizes: [1]}}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<14 {
			t.Skip()
		}
		m, err := ParseApp("app.yaml", text)
		if err != nil {
			if !strings.Contains(err.Error(), "app.yaml") {
				t.Errorf("the error names no file: %v", err)
			}
			return
		}
		choice := make([]int, m.NumFunctions())
		for f := range choice {
			choice[f] = len(m.Options[f]) - 1
		}
		if o := m.Evaluate(choice); !(o.Seconds > 0) || !(o.USD >= 0) {
			t.Errorf("outcome %+v", o)
		}
	})
}
