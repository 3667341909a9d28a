package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/eval/explain"
)

func TestExplain(t *testing.T) {
	run := trained(t)
	code, out, errs := stoker("explain", run, "--states", "9", "--steps", "4")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "table", out, "ddpg in stoker/LQR-v1", "state", "control", "return lost",
		filepath.Join(run, "explain", "features.png"))
	for _, name := range []string{explain.File, explain.FeaturesFile, explain.DecisionsFile, "features.svg"} {
		if _, err := os.Stat(filepath.Join(run, "explain", name)); err != nil {
			t.Error(err)
		}
	}
	other := filepath.Join(t.TempDir(), "out")
	code, out, errs = stoker("explain", run, "--seeds", "1-4", "--replay=false", "--json", "--out", other)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	e := decode[explain.Explanation](t, out)
	if e.Episodes != 4 || e.Source != run || len(e.Features) != 1 || e.Features[0].Own.Value != 1 ||
		e.Features[0].Lost != nil {
		t.Errorf("%+v, want four episodes, and all of the decision following from the state", e)
	}
}

func TestExplainRefuses(t *testing.T) {
	run := trained(t)
	for _, c := range []struct {
		want string
		args []string
	}{
		{"is missing", []string{"explain"}},
		{"there is no nowhere", []string{"explain", "nowhere"}},
		{"at least 2", []string{"explain", run, "--seeds", "3"}},
		{"seeds", []string{"explain", run, "--seeds", "x"}},
		{`--steps is "0", want a whole number of at least 1`, []string{"explain", run, "--steps", "0"}},
		{`--states is "-1", want a whole number of at least 0`, []string{"explain", run, "--states", "-1"}},
		{"did you mean --seeds", []string{"explain", run, "--seed", "3"}},
	} {
		code, _, errs := stoker(c.args...)
		if code != exitUsage {
			t.Errorf("%v: exit %d, want %d", c.args, code, exitUsage)
		}
		contains(t, "error", errs, c.want)
	}
}

// Policies of Firm, SIMPPO (which standardises what it sees) and PPO are explained: with enough points on the path the
// integrated gradients sum to the decisions.
func TestExplainForms(t *testing.T) {
	for _, config := range []string{"faasconf/firm", "faasconf/simppo", "sizing/faasconf"} {
		runs := t.TempDir()
		if code, _, errs := stoker("train", config, "--runs", runs, "--name", "a", "--set", "train.steps=60", "--set",
			"train.evaluate.every=0", "--set", "train.envs=2"); code != exitDone {
			t.Fatalf("%s: exit %d: %s", config, code, errs)
		}
		code, out, errs := stoker("explain", filepath.Join(runs, "a"), "--seeds", "1-2", "--states", "6", "--steps", "64",
			"--replay=false", "--json")
		if code != exitDone {
			t.Fatalf("%s: exit %d: %s", config, code, errs)
		}
		if e := decode[explain.Explanation](t, out); e.Unexplained > 0.05 || e.Agents != 6 || len(e.Decisions) < 18 {
			t.Errorf("%s: %d decisions of %d agents, of which %.3f unexplained, want 0.05 at most", config, len(e.Decisions),
				e.Agents, e.Unexplained)
		}
	}
}

// Attention is compared with equal weights, in numbers, in words and in a figure.
func TestExplainAttention(t *testing.T) {
	runs := t.TempDir()
	if code, _, errs := stoker("train", "sizing/faasconf-attmf", "--runs", runs, "--name", "a", "--set", "train.steps=100",
		"--set", "train.evaluate.every=0", "--set", "agent.learning_starts=60", "--set", "agent.batch=32", "--set", "agent.replay=200", "--set", "train.envs=2"); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	run := filepath.Join(runs, "a")
	args := []string{"explain", run, "--seeds", "1-2", "--states", "12", "--steps", "2", "--replay=false"}
	code, out, errs := stoker(args...)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "text", out, "of equal weights", "from the third of the states with the lowest load", "median decision moves by",
		"attention.svg")
	code, out, errs = stoker(append(args, "--json")...)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	e := decode[explain.Explanation](t, out)
	sum := map[int]float64{}
	for _, l := range e.Attention {
		sum[l.Agent] += l.Weight.Value
	}
	for i, x := range sum {
		if x < 0.999 || x > 1.001 {
			t.Errorf("the weights of agent %d sum to %g, want 1", i, x)
		}
	}
	if a := e.Attending; a == nil || a.Agents == 0 || !(a.Entropy.Value > 0) || a.Entropy.Value > 1 || !(a.Moved > 0) {
		t.Errorf("attention is %+v, want agents with two neighbours, an entropy within (0, 1] and decisions that move", a)
	}
}
