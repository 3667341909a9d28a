package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/eval/leaderboard"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/shell"
	"github.com/stoker-rl/stoker/train/sweep"
)

// A sweep trains every arm and seed, ranks them, names the winner's command, and has nothing to do again.
func TestSweep(t *testing.T) {
	runs, file := t.TempDir(), config(t, brief)
	a := []string{"sweep", file, "--runs", runs, "--grid", "agent.actor_rate=1e-4,1e-3", "--seeds", "1-2", "--jobs", "2"}
	code, out, errs := stoker(append(a, "--dry-run")...)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	dir := filepath.Join(runs, "small-actor_rate")
	contains(t, "dry run", out, "actor_rate-1e-3  1e-3", "2 arms, 4 runs, 160 steps: "+dir)
	if _, err := os.Stat(dir); err == nil {
		t.Error("a dry run made a folder")
	}
	code, out, errs = stoker(a...)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "progress", errs, dir+": 2 arms, 4 runs, 0 of them finished, 2 at a time",
		"actor_rate-1e-4-s2: finished",
		"100%  4/4 runs  160/160 steps")
	contains(t, "report", out, "small-actor_rate: 2 arms × 2 seeds in stoker/LQR-v1", "is the best of 2 arms",
		"\n  stoker train "+shell.Quote(file)+" --set agent.actor_rate=1e-", " --seeds 3-7 --name small-actor_rate-best\n",
		"plot:   "+filepath.Join(dir, "effects", "agent.actor_rate.png"))
	for _, f := range []string{"sweep.json", "leaderboard.csv", "leaderboard.json", "effects/agent.actor_rate.svg",
		"actor_rate-1e-3-s2/checkpoints/best"} {
		if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
			t.Error(err)
		}
	}
	code, again, errs := stoker("resume", dir)
	if code != exitDone || again != out {
		t.Errorf("exit %d: %s%s, want %s", code, errs, again, out)
	}
	code, out, errs = stoker("sweep", "show", dir, "--metric", "cost", "--json")
	if b := decode[leaderboard.Board](t, out); code != exitDone || b.Metric.Name != "cost" || len(b.Arms) != 2 ||
		b.Arms[1].Rank != 2 {
		t.Errorf("exit %d: %s%s", code, errs, out)
	}
	// Its finished runs are compared and drawn as one, by what they differ in.
	eval := filepath.Join(dir, "eval")
	if code, out, errs = stoker("eval", dir); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if _, err := os.Stat(filepath.Join(eval, "eval.json")); err != nil {
		t.Error(err)
	}
	part := filepath.Join(dir, "leaderboard.csv")
	if code, _, errs := stoker("eval", part, "--out", eval); code != exitUsage ||
		!strings.Contains(errs, part+" is no run, but a part of the sweep "+dir) {
		t.Errorf("exit %d: %s", code, errs)
	}
	contains(t, "evaluation", out, "small actor_rate=1e-4", "small actor_rate=0.001")
	if code, _, errs = stoker("plot", dir, "--out", eval, "--metric", "eval/cost"); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "plot", errs, "small actor_rate=1e-4: 2 runs")
	// More seeds.
	code, out, errs = stoker("sweep", file, "--runs", runs, "--grid", "agent.actor_rate=1e-4,1e-3", "--seeds", "3",
		"--extend", "--json")
	if b := decode[leaderboard.Board](t, out); code != exitDone || len(b.Seeds) != 3 || b.Arms[0].Seeds != 3 {
		t.Errorf("exit %d: %s%s", code, errs, out)
	}
}

// A killed sweep goes on by the same command and by resume, and leaves what one that was not killed leaves.
func TestSweepKilled(t *testing.T) {
	dir, file := t.TempDir(), config(t, "train: {steps: 2000, envs: 2, evaluate: {every: 500, episodes: 1}, checkpoint: "+
		"{every: 500}}\n")
	a := []string{"sweep", file, "--random", "agent.actor_rate=log(1e-4,1e-2)", "--trials", "2", "--seeds", "1-2",
		"--jobs", "1"}
	code, want, errs := stoker(append(a, "--runs", filepath.Join(dir, "whole"))...)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	c, said := process(dir, append(a, "--runs", "runs")...)
	start(t, c, said, "-s1: finished") // the next run is under way
	must.Do(t, c.Process.Kill())
	_ = c.Wait() // killed
	killed := filepath.Join(dir, "runs", "small-actor_rate")
	code, out, errs := stoker("resume", killed)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "said", errs, "2 arms, 4 runs, ")
	whole := filepath.Join(dir, "whole", "small-actor_rate")
	if out != strings.ReplaceAll(want, whole, killed) {
		t.Errorf("%s, want %s", out, want)
	}
	for _, f := range []string{"leaderboard.csv", "leaderboard.json", "effects/agent.actor_rate.csv",
		"effects/agent.actor_rate.png"} {
		x, err := os.ReadFile(filepath.Join(whole, f))
		y, err2 := os.ReadFile(filepath.Join(killed, f))
		if err != nil || err2 != nil || string(x) != string(y) {
			t.Errorf("%s differs: %v, %v", f, err, err2)
		}
	}
}

// Ctrl-C saves the runs under way and says how to go on.
func TestSweepStopped(t *testing.T) {
	noSignals(t)
	dir := t.TempDir()
	c, errs := process(dir, "sweep", config(t, endless), "--grid", "agent.actor_rate=1e-4,1e-3", "--jobs", "1",
		"--name", "x")
	start(t, c, errs, "0/2 runs")
	must.Do(t, c.Process.Signal(os.Interrupt))
	if code := wait(t, c); code != exitInterrupted {
		t.Errorf("exit %d, want %d: %s", code, exitInterrupted, errs)
	}
	contains(t, "said", errs.String(), "actor_rate-1e-4-s1: stopped",
		"stopped by interrupt with 0 of 2 runs finished, all saved; "+
			"go on with: stoker resume "+filepath.Join("runs", "x"), "stoker sweep show "+filepath.Join("runs", "x"))
	code, out, said := stoker("sweep", "show", filepath.Join(dir, "runs", "x"))
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, said)
	}
	contains(t, "shown", out, "stopped: actor_rate-1e-4-s1", "waiting: actor_rate-1e-3-s1")
}

// What is wrong is said before anything runs, with what would be right.
func TestSweepRefused(t *testing.T) {
	file, run := config(t, brief), trained(t)
	law := filepath.Join(t.TempDir(), "law.yaml")
	must.Do(t, os.WriteFile(law, []byte("grid:\n  agent.actor_rate: [1e-4]\nsedes: 1\n"), 0o666))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"sweep"}, "CONFIG is missing"},
		{[]string{"sweep", file}, "nothing is varied"},
		{[]string{"sweep", file, "--grid", "agent.actor_rat=1"}, "did you mean actor_rate?"},
		{[]string{"sweep", file, "--grid", "agent.tau"}, "want KEY=VALUE,VALUE"},
		{[]string{"sweep", file, "--random", "agent.tau=0.1"}, "want uniform(a,b)"},
		{[]string{"sweep", file, "--grid", "agent.tau=0.1", "--seed", "3"}, "--seed is that of --random's draws"},
		{[]string{"sweep", file, "--grid", "agent.tau=0.1", "--metric", "cots"}, "did you mean cost?"},
		{[]string{"sweep", file, "--grid", "agent.tau=0.1", "--jobs", "0"}, `--jobs is "0", want a whole number of at least 1`},
		{[]string{"sweep", file, "--grid", "agent.tau=0.1", "--seeds", "2-1"}, "--seeds: "},
		{[]string{"sweep", "nowhere.yaml", "--grid", "agent.tau=0.1"}, "nowhere.yaml"},
		{[]string{"sweep", file, "--file", "nowhere.yaml"}, "--file: "},
		{[]string{"sweep", file, "--file", law}, law + ":3: sedes is no key of a sweep's file; did you mean seed"},
		{[]string{"sweep", file, "--grid", "agent.tau=0.1", "--runs", filepath.Dir(run), "--name", "a"},
			"exists and is no sweep"},
		{[]string{"sweep", "show", run}, "is no sweep's folder: it has no sweep.json"},
		{[]string{"resume", run, "--jobs", "2"}, "--jobs is for sweeps"},
	} {
		if code, _, errs := stoker(c.args...); code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit %d: %s, want %q", c.args, code, errs, c.want)
		}
	}
}

// A sweep can stand in a file; flags go over it.
func TestSweepFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sweep.yaml")
	text := "config: " + config(t, brief) +
		"\nname: mine\ngrid:\n  agent.hidden: [[4], [4, 4]]\nrandom:\n  agent.tau: log(0.01,0.1)\n" +
		"trials: 2\nseeds: 1-4\nset: {train.steps: 20}\n"
	must.Do(t, os.WriteFile(file, []byte(text), 0o666))
	code, out, errs := stoker("sweep", "--file", file, "--seeds", "5", "--trials", "3", "--dry-run", "--json")
	got := decode[struct {
		Dir         string
		Runs, Steps int
	}](t, out)
	if code != exitDone || got.Dir != filepath.Join("runs", "mine") || got.Runs != 6 || got.Steps != 120 {
		t.Errorf("exit %d: %s%+v", code, errs, got)
	}
}

// On a terminal the whole stands above the runs under way, drawn over and over; a failure stays.
func TestSweepBoard(t *testing.T) {
	var out output
	b := newSweepBoard(&out, true)
	b.whole = " 10%  0/3 runs"
	a, c := sweep.Run{Folder: "a-s1"}, sweep.Run{Folder: "c-s1"}
	for _, r := range []sweep.Run{a, c} {
		must.Get(b.of(r).Write([]byte("50%  20/40 steps\n")))(t)
	}
	b.draw()
	a.Status, a.Error = sweep.Failed, "no memory\nat all"
	b.ended(sweep.Arm{}, a)
	c.Status = sweep.Finished
	b.ended(sweep.Arm{}, c)
	b.finish()
	want := " 10%  0/3 runs\n  a-s1  50%  20/40 steps\n  c-s1  50%  20/40 steps\n" +
		"\x1b[3A\r\x1b[Ja-s1: failed: no memory\n 10%  0/3 runs\n  c-s1  50%  20/40 steps\n" +
		"\x1b[2A\r\x1b[J 10%  0/3 runs\n"
	if got := out.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
