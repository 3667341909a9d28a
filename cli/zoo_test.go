package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/eval"
)

func TestZoo(t *testing.T) {
	name := zoo.Names()[0]
	code, out, errs := stoker("zoo")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "list", out, zoo.Prefix+name)
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
	code, _, errs := stoker("eval", at, "--seeds", "1-2", "--set", "eval.resamples=100", "--set", "eval.rivals=[]", "--out", dir)
	if code != exitDone {
		t.Fatalf("eval: exit %d: %s", code, errs)
	}
	text, err := os.ReadFile(filepath.Join(dir, eval.SummaryFile))
	if err != nil {
		t.Fatal(err)
	}
	if s := decode[eval.Summary](t, string(text)); s.Policies[0].Name != zoo.Names()[0] || s.Policies[0].Sources[0] != at {
		t.Errorf("%+v, want the policy under its own name, from %s", s.Policies, at)
	}
	code, out, errs := stoker("check", at)
	if code != exitDone {
		t.Fatalf("check: exit %d: %s", code, errs)
	}
	contains(t, "report", out, "sound", "policy")
	for _, args := range [][]string{{"eval", at, "--seeds", "1-2"}, {"zoo", "nobody"}, {"zoo", "card"}, {"zoo", "card", "x"}} {
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

// TestZooCard: a run's best policy becomes an entry that is a checkpoint of its own; another configuration than the run's is refused.
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
	if c.Name != "small" || len(c.Evaluations) != 1 || c.Steps == 0 || c.Env != "stoker/LQR-v1" {
		t.Errorf("%+v, want what the run and its evaluation say", c)
	}
	ck, err := checkpoints.Open(filepath.Join(to, "small", zoo.PolicyDir))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(ck); err != nil {
		t.Error(err)
	}
	c.Steps++
	if c.Check(ck) == nil {
		t.Error("a card of other steps passes for the checkpoint's")
	}
	code, _, errs = stoker(append(base, "configs/classic/lqr.yaml")...)
	if code != exitUsage || !strings.Contains(errs, "does not make this run") {
		t.Errorf("another configuration: exit %d: %s", code, errs)
	}
	for _, bad := range [][]string{
		{"zoo", "card", run, "--name", "A", "--about", "x", "--to", to, "--config", config(t, brief)},
		{"zoo", "card", run, "--name", "a", "--about", "x", "--to", to, "--config", config(t, brief), "--eval", "nowhere"},
	} {
		if code, _, errs := stoker(bad...); code == exitDone || errs == "" {
			t.Errorf("%v: exit %d, want it refused", bad[5:], code)
		}
	}
}
