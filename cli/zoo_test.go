package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/internal/must"
)

func TestZoo(t *testing.T) {
	name := zoo.Names()[0]
	code, out, errs := stoker("zoo")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "list", out, zoo.Prefix+name, "policy  ", "stoker zoo "+name, "stoker eval "+zoo.Prefix+name)
	code, out, errs = stoker("zoo", "--json")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if list := decode[[]zoo.Entry](t, out); len(list) != len(zoo.Names()) || list[0].Card.ID == "" {
		t.Errorf("%+v, want a card for each of %v", list, zoo.Names())
	}
	for _, arg := range []string{name, zoo.Prefix + name} {
		code, out, errs = stoker("zoo", arg)
		if code != exitDone {
			t.Fatalf("exit %d: %s", code, errs)
		}
		contains(t, "card", out, "# "+name, "sha256", "stoker train configs/")
	}
}

// TestZooEverywhere: a policy of the zoo is evaluated and checked by its name.
func TestZooEverywhere(t *testing.T) {
	at := zoo.Prefix + zoo.Names()[0]
	dir := t.TempDir()
	code, _, errs := stoker("eval", at, "--seeds", "1-2", "--set", "eval.resamples=100", "--set", "eval.baselines=[]",
		"--out", dir)
	if code != exitDone {
		t.Fatalf("eval: exit %d: %s", code, errs)
	}
	text := must.Get(os.ReadFile(filepath.Join(dir, eval.SummaryFile)))(t)
	if s := decode[eval.Summary](t, string(text)); s.Policies[0].Name != zoo.Names()[0] ||
		s.Policies[0].Sources[0] != at {
		t.Errorf("%+v, want the policy under its own name, from %s", s.Policies, at)
	}
	shipped := must.Get(zoo.ReadCard(zoo.Names()[0]))(t)
	folder := filepath.Join(t.TempDir(), zoo.Names()[0])
	must.Do(t, os.CopyFS(folder, os.DirFS(filepath.Join("..", "checkpoints", "zoo", zoo.Names()[0]))))
	code, out, errs := stoker("zoo", "card", at, "--eval", dir, "--out", filepath.Dir(folder), "--json")
	if code != exitDone {
		t.Fatalf("zoo card: exit %d: %s", code, errs)
	}
	c := decode[zoo.Card](t, out)
	if c.ID != shipped.ID || c.About != shipped.About || len(c.Evaluations) != 1 || len(c.Evaluations[0].Seeds) != 2 ||
		c.Evaluations[0].Policies[0].Metrics["return"].MeanLo == nil || c.Remake[0] != shipped.Remake[0] {
		t.Errorf("the card made anew is %+v", c)
	}
	if code, _, errs := stoker("zoo", "card", at); code != exitUsage || !strings.Contains(errs, "--eval") {
		t.Errorf("a card without an evaluation: exit %d: %s", code, errs)
	}
	code, out, errs = stoker("check", at)
	if code != exitDone {
		t.Fatalf("check: exit %d: %s", code, errs)
	}
	contains(t, "report", out, "sound", "policy")
	for _, args := range [][]string{{"eval", at, "--seeds", "1-2"}, {"zoo", "nobody"}, {"zoo", "card"},
		{"zoo", "card", "x"}} {
		if code, _, errs := stoker(args...); code != exitUsage {
			t.Errorf("%v: exit %d (%s), want %d", args, code, errs, exitUsage)
		}
	}
	if code, _, errs := stoker("check", "zoo:nobody"); code == exitDone || !strings.Contains(errs, zoo.Names()[0]) {
		t.Errorf("check of nobody: exit %d: %s", code, errs)
	}
	if code, _, errs := stoker("eval", "zoo:nobody"); code == exitDone || !strings.Contains(errs, zoo.Names()[0]) {
		t.Errorf("eval of nobody: exit %d: %s", code, errs)
	}
}

// TestZooCard: a run's best policy becomes an entry that is a checkpoint of its own; another configuration than the
// run's is refused.
func TestZooCard(t *testing.T) {
	run := trained(t)
	if code, _, errs := stoker("eval", run); code != exitDone {
		t.Fatalf("eval: exit %d: %s", code, errs)
	}
	to := filepath.Join(t.TempDir(), "zoo")
	base := []string{"zoo", "card", run, "--name", "small", "--about", "A try.", "--to", to, "--config"}
	code, out, errs := stoker(append(base, config(t, brief), "--json")...)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	c := decode[zoo.Card](t, out)
	ck := must.Get(checkpoints.Open(filepath.Join(to, "small", zoo.PolicyDir)))(t)
	if err := c.Check(ck); err != nil {
		t.Error(err)
	}
	c.Steps++
	if c.Check(ck) == nil {
		t.Error("a card of other steps passes for the checkpoint's")
	}
	code, _, errs = stoker(append(base, "configs/classic/lqr.yaml")...)
	if code != exitUsage || !strings.Contains(errs, "is not the configuration of this run") {
		t.Errorf("another configuration: exit %d: %s", code, errs)
	}
	for _, bad := range [][]string{
		{"zoo", "card", run, "--name", "A", "--about", "x", "--to", to, "--config", config(t, brief)},
		{"zoo", "card", run, "--name", "a", "--about", "x", "--to", to, "--config", config(t, brief), "--eval",
			"nowhere"},
	} {
		if code, _, errs := stoker(bad...); code == exitDone || errs == "" {
			t.Errorf("%v: exit %d, want it refused", bad[5:], code)
		}
	}
}

// TestZooCardNames: a card's commands call runs what stoker train calls them, that from whose weights they began too.
func TestZooCardNames(t *testing.T) {
	first, file, runs := trained(t), config(t, brief), t.TempDir()
	second := filepath.Join(runs, "b")
	for _, args := range [][]string{
		{"train", file, "--runs", runs, "--name", "b", "--seed", "2", "--init-from", first},
		{"eval", second},
	} {
		if code, _, errs := stoker(args...); code != exitDone {
			t.Fatalf("%v: exit %d: %s", args, code, errs)
		}
	}
	// What the command was is the test's own here.
	summary := filepath.Join(second, "eval", eval.SummaryFile)
	text, err := os.ReadFile(summary)
	must.Do(t, err)
	s := decode[map[string]any](t, string(text))
	s["command"] = []string{"/bin/stoker", "eval", second, filepath.Join(second, "checkpoints", "x"), "runs/other-s1",
		"--set", "eval.baselines=[{name: r}]"}
	if text, err = json.Marshal(s); err != nil {
		t.Fatal(err)
	}
	must.Do(t, os.WriteFile(summary, text, 0o666))
	code, out, errs := stoker("zoo", "card", second, "--name", "small", "--about", "A try.", "--to", t.TempDir(),
		"--config", file, "--json")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	want := []string{
		"stoker train " + file + " --seed 2 --init-from runs/small-s1",
		"stoker eval runs/small-s2 runs/small-s2/checkpoints/x runs/other-s1 --set 'eval.baselines=[{name: r}]'",
	}
	if c := decode[zoo.Card](t, out); !slices.Equal(c.Remake, want) {
		t.Errorf("the card's commands are %q, want %q", c.Remake, want)
	}
	const from = zoo.Prefix + "steps-graph"
	must.Do(t, os.WriteFile(filepath.Join(runs, checkpoints.RunFile), []byte(`{"init_from": "`+from+`"}`), 0o666))
	if got, err := (remaker{}).train(runs, "x.yaml", &configs.Experiment{Seed: 3}); got != "stoker train x.yaml --seed 3 --init-from "+from {
		t.Errorf("a run that began with a policy of the zoo is made by %q, %v", got, err)
	}
}
