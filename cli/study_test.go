package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/eval/leaderboard"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/shell"
)

// With --halving most trials stop early; the table says at which rung, step and score. Any number of jobs leaves the
// same table.
func TestHalving(t *testing.T) {
	file := config(t, brief)
	a := []string{"sweep", file, "--random", "agent.actor_rate=log(1e-4,1e-1)", "--trials", "4", "--halving", "10", "--factor", "2",
		"--metric", "cost", "--name", "x"}
	var first string
	for _, jobs := range []string{"1", "4"} {
		runs := t.TempDir()
		code, out, errs := stoker(append(a, "--runs", runs, "--jobs", jobs)...)
		if code != exitDone {
			t.Fatalf("exit %d: %s", code, errs)
		}
		out = strings.ReplaceAll(out, runs, "")
		if first == "" {
			first = out
			contains(t, "table", out, "cost, lower is better: mean over workload seeds 4001-4010 of the training's part",
				"rank  actor_rate  rung  steps  seeds  cost", "  3/3   40     1/1 ", "  2/3   20  ", "  1/3   10  ")
		}
		if out != first {
			t.Errorf("%s jobs: %s, want %s", jobs, out, first)
		}
		code, out, errs = stoker("sweep", "show", filepath.Join(runs, "x"), "--json")
		if b := decode[leaderboard.Board](t, out); code != exitDone || b.Arms[0].Rung != 3 || b.Arms[3].Steps != 10 || b.Rungs != 3 {
			t.Errorf("exit %d: %s%s", code, errs, out)
		}
		for metric, want := range map[string]string{"return": "has scored cost", "": "--at is for sweeps"} {
			args := []string{"sweep", "show", filepath.Join(runs, "x"), "--metric", metric, "--at", "last"}
			if code, _, errs := stoker(args...); code != exitUsage || !strings.Contains(errs, want) {
				t.Errorf("metric %q: exit %d: %s", metric, code, errs)
			}
		}
	}
}

// Two metrics give a front.
func TestFront(t *testing.T) {
	runs := t.TempDir()
	code, out, errs := stoker("sweep", config(t, brief), "--grid", "agent.actor_rate=1e-4,1e-2", "--metric", "cost,return",
		"--name", "x", "--runs", runs)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "table", out, "cost   return  front", " * ")
	svg := string(must.Get(os.ReadFile(filepath.Join(runs, "x", "front.svg")))(t))
	contains(t, "figure", svg, "no other trial is better in both", "cost and return of the trials of x")
}

// --final trains the best trials anew and says what they are worth; the same command again has nothing to train.
func TestFinal(t *testing.T) {
	runs := t.TempDir()
	args := []string{"sweep", config(t, brief), "--grid", "agent.actor_rate=1e-4,1e-2", "--metric", "cost", "--name", "x", "--runs", runs,
		"--final", "1x2"}
	code, out, errs := stoker(args...)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	final := filepath.Join(runs, "x", "final")
	contains(t, "table", out, "trained anew with seeds 2-3", "over the base", "stoker eval "+shell.Quote(final))
	if code, again, _ := stoker(args...); code != exitDone || again != out {
		t.Errorf("exit %d: %s, want %s", code, again, out)
	}
	if code, _, errs := stoker(append(args, "--final", "2x2")...); code != exitUsage || !strings.Contains(errs, "remove that folder") {
		t.Errorf("another final: exit %d: %s", code, errs)
	}
}

// A study of --asha says that it depends on the order of scores, and --replay gives its file again.
func TestReplay(t *testing.T) {
	runs := t.TempDir()
	code, out, errs := stoker("sweep", config(t, brief), "--random", "agent.actor_rate=log(1e-4,1e-1)", "--trials", "4", "--halving", "10",
		"--factor", "2", "--asha", "--metric", "cost", "--name", "x", "--runs", runs, "--jobs", "2")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "table", out, "; trials were promoted as scores arrived: in another order others may be")
	study := filepath.Join(runs, "x")
	if code, _, errs := stoker("sweep", "--replay", study, "--runs", runs, "--jobs", "1"); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	got := string(must.Get(os.ReadFile(filepath.Join(runs, "x-replay", "sweep.json")))(t))
	if want := string(must.Get(os.ReadFile(filepath.Join(study, "sweep.json")))(t)); got != want || !strings.Contains(got, `"order_dependent": true`) {
		t.Errorf("the replay's sweep.json is\n%s\nwant\n%s", got, want)
	}
	for want, args := range map[string][]string{
		"has its configuration: leave lqr out": {"lqr", "--replay", study},
		"there is no ":                         {"--replay", filepath.Join(runs, "y")},
		"holds another sweep":                  {"--replay", study, "--name", "z"},
	} {
		if want == "holds another sweep" {
			if code, _, errs := stoker("sweep", config(t, brief), "--grid", "agent.actor_rate=1e-4", "--name", "z", "--runs", runs); code != exitDone {
				t.Fatalf("exit %d: %s", code, errs)
			}
		}
		if code, _, errs := stoker(append([]string{"sweep", "--runs", runs}, args...)...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d: %s, want %q", args, code, errs, want)
		}
	}
}

// What is wrong with a study is said before anything runs.
func TestStudyRefused(t *testing.T) {
	file := config(t, brief)
	for _, c := range []struct{ args, want string }{
		{"--halving 30", "--halving is 30, which leaves one rung: want at most 13"},
		{"--halving x", `--halving is "x", want the steps of the first rung, as in --halving 4, or seeds`},
		{"--halving 10 --factor 1", `--factor is "1", want a whole number of at least 2`},
		{"--factor 2", "--factor is given without --halving"},
		{"--asha", "--asha needs --halving"},
		{"--asha --hyperband --halving 10", "--asha and --hyperband are both given"},
		{"--replay x", "--grid is that of x with --replay: leave it out"},
		{"--hyperband", "--hyperband needs --halving"},
		{"--score-seeds 2-25", "has 2, a seed of eval.seeds ("},
		{"--propose halton", "--propose needs the ranges of --random"},
		{"--batch 3", "--batch is given without --propose"},
		{"--score-seeds 6000", "want at most 4999"},
		{"--metric cost,cots", "did you mean cost?"},
		{"--metric cost,return --halving 10", "--halving ranks trials by one"},
	} {
		args := append([]string{"sweep", file, "--grid", "agent.actor_rate=1e-4,1e-3", "--runs", t.TempDir()}, strings.Fields(c.args)...)
		if code, _, errs := stoker(args...); code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit %d: %s, want %q", c.args, code, errs, c.want)
		}
	}
}
