package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// What stoker new writes trains as it is, and a file that is there stays.
// The environment's own file is found from any folder, also where another one has its name there.
func TestNewTrains(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(t.TempDir())
	for _, problem := range problems {
		path := filepath.Join(dir, "my-"+problem)
		if code, out, errs := stoker("new", problem, path); code != exitDone {
			t.Fatalf("exit %d: %s%s", code, out, errs)
		}
		code, out, errs := stoker("train", path+".yaml", "--runs", dir, "--name", problem, "--set", "train.steps=64",
			"--set", "train.envs=2", "--set", "train.evaluate={every: 64, episodes: 1}")
		if code != exitDone {
			t.Fatalf("%s: exit %d: %s", problem, code, errs)
		}
		contains(t, problem, out, "trained 64 steps")
		for _, own := range must.Get(filepath.Glob(path + ".*.yaml"))(t) {
			must.Do(t, os.WriteFile(filepath.Base(own), []byte("another's"), 0o666))
			code, _, errs = stoker("eval", filepath.Join(dir, problem), "--seeds", "1-2", "--set", "eval.baselines=[random]", "--out", problem)
			if code != exitDone {
				t.Errorf("%s: exit %d: %s", problem, code, errs)
			}
		}
		text, err := os.ReadFile(path + ".yaml")
		must.Do(t, err)
		contains(t, problem, string(text), "<-", "name: my-"+problem, "baselines: [")
		must.Do(t, os.WriteFile(path+".yaml", []byte("mine"), 0o666))
		code, _, errs = stoker("new", problem, path+".yaml")
		if text, err = os.ReadFile(path + ".yaml"); err != nil || code != exitUsage || string(text) != "mine" {
			t.Errorf("%s: exit %d, file %q (%v): %s", problem, code, text, err, errs)
		}
	}
}

// A name that is a number, null or a date in YAML stays a name, and so does a folder with a quote.
func TestNewQuotes(t *testing.T) {
	t.Chdir(t.TempDir())
	names := []string{"null", "1e3", "2024-01-01"}
	if os.Mkdir(`a"b`, 0o777) == nil { // not on Windows
		names = append(names, `a"b/true`)
	}
	for _, path := range names {
		for _, problem := range []string{"sizing", "steps"} {
			if code, out, errs := stoker("new", problem, path); code != exitDone {
				t.Fatalf("%s: exit %d: %s%s", path, code, out, errs)
			}
			code, out, errs := stoker("train", path+".yaml", "--print-config")
			if code != exitDone || !strings.Contains(strings.ReplaceAll(out, "'", `"`), `name: "`+filepath.Base(path)+`"`) {
				t.Errorf("%s %s: exit %d: %.200s%s", problem, path, code, out, errs)
			}
			must.Do(t, os.Remove(path+".yaml"))
		}
	}
}

// What was measured becomes a configuration that trains: the functions of the laws as a chain, the first one's requests
// of the trace, or all where the trace does not know it.
func TestNewTakesInMeasurements(t *testing.T) {
	dir := t.TempDir()
	path := func(name, text string) string {
		p := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(p, []byte(text), 0o666))
		return p
	}
	const laws = "env:\n  laws:\n    - {function: a, work: 0.1, parallel: 1, idle: 30}\n" +
		"    - {function: b, work: 0.2, parallel: 1}\n"
	lawsFile := path("laws.yaml", laws)
	marked := strings.NewReplacer("function: a", "function: FILE_NAME").Replace(laws) // words that the template's places have
	trace := path("trace.csv", "timestamp,function,count\n60,a,40\n60,b,40\n120,a,50\n180,a,50\n2400,a,50\n")
	changed := func(from, to string) string {
		return path("changed.yaml-"+strings.ReplaceAll(to, ": ", "-"), strings.Replace(laws, from, to, 1))
	}
	shop := filepath.Join(dir, "shop")
	code, out, errs := stoker("new", "sizing", shop, "--laws", lawsFile, "--trace", trace)
	if code != exitDone {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	text, err := os.ReadFile(shop + ".yaml")
	must.Do(t, err)
	contains(t, "shop.yaml", string(text), `nodes: [{name: "a"}, {name: "b"}]`, `edges: [{from: "a", to: "b"}]`,
		"{function: a, work: 0.1, parallel: 1, overhead: 0, crowding: 0, cv: 0, idle: 30}", `functions: {names: ["a"]}`,
		"factor: 1 ")
	code, out, errs = stoker("train", shop+".yaml", "--runs", dir, "--name", "shop", "--set", "train.steps=16", "--set",
		"train.envs=2", "--set", "train.evaluate.every=0", "--set", "env.windows=4")
	if code != exitDone {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	if code, _, errs := stoker("new", "sizing", filepath.Join(dir, "own"), "--laws", path("marked.yaml", marked)); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "own.yaml", string(must.Get(os.ReadFile(filepath.Join(dir, "own.yaml")))(t)), "name: own", `[{from: "FILE_NAME", to: "b"}]`,
		"{function: FILE_NAME, work")
	if code, _, errs := stoker("new", "sizing", filepath.Join(dir, "mail"), "--trace", trace); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if text, err = os.ReadFile(filepath.Join(dir, "mail.yaml")); err != nil {
		t.Fatal(err)
	}
	contains(t, "mail.yaml", string(text), "# functions: {names: []}", "{function: resize, work: 0.4")
	for want, args := range map[string][]string{
		"--laws and --trace are for sizing, not for steps":    {"steps", "x", "--trace", "y"},
		"--laws: open none.yaml":                              {"sizing", "x", "--laws", "none.yaml"},
		"has no env.laws, want the laws.yaml that stoker":     {"sizing", "x", "--laws", path("empty.yaml", "env: {}\n")},
		`env.laws[1].function is "a", want a name, and each`:  {"sizing", "x", "--laws", changed("function: b", "function: a")},
		"env.laws[0]: work is 0":                              {"sizing", "x", "--laws", changed("work: 0.1", "work: 0")},
		`--trace: workload.path is "none.csv", want a folder`: {"sizing", "x", "--trace", "none.csv"},
	} {
		code, _, errs := stoker(append([]string{"new"}, args...)...)
		if code != exitUsage {
			t.Errorf("%v: exit %d, want %d", args, code, exitUsage)
		}
		contains(t, "error", errs, want)
	}
}

func TestNewRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ problem, name, want string }{
		{"sizin", "a", "did you mean sizing"},
		{"steps.steps", "a", "there are: sizing"},
		{"sizing", ".a b", "want letters"},
		{"steps", "none/a", "make it first"},
	} {
		code, _, errs := stoker("new", c.problem, filepath.Join(dir, c.name))
		if code != exitUsage {
			t.Errorf("%s %s: exit %d", c.problem, c.name, code)
		}
		contains(t, c.problem, errs, c.want)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A baseline of the environment that does not fit the configuration is left out, and said.
func TestDefaultBaselinesFit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "two.yaml")
	text := `name: two
env:
  id: stoker/Pricing-v1
  windows: 2
  slots: 4
  tiers: [{sla: 2, functions: 2, service: 1, demand: 1, penalty: 1}, {sla: 1, functions: 2, service: 1, demand: 1}]
  prices: [1, 1]
  baselines: [1, 1]
  demand: {source: generated}
agent: ppo
train: {steps: 8, envs: 1, evaluate: {every: 0}}
`
	must.Do(t, os.WriteFile(path, []byte(text), 0o666))
	runs := t.TempDir()
	code, _, errs := stoker("train", path, "--runs", runs, "--name", "two")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "errors", errs, "note: spss, a baseline of stoker/Pricing-v1, is left out")
	resolved := must.Get(os.ReadFile(filepath.Join(runs, "two", "config.yaml")))(t)
	contains(t, "baselines", string(resolved), "baselines:\n  - name: random")

	// So it is for the arms of a sweep, whose folder can then be evaluated.
	arms := []string{"sweep", path, "--runs", runs, "--name", "arms", "--grid", "agent.gamma=0,0.9"}
	for range 2 { // the same command goes on with the same sweep
		if code, _, errs = stoker(arms...); code != exitDone {
			t.Fatalf("exit %d: %s", code, errs)
		}
		contains(t, "errors", errs, "note: spss, a baseline of stoker/Pricing-v1, is left out")
	}
	if code, _, errs = stoker("eval", filepath.Join(runs, "arms"), "--seeds", "1-2"); code != exitDone {
		t.Errorf("exit %d: %s", code, errs)
	}
}
